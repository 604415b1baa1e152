#include "plan/script.h"

#include <algorithm>
#include <numeric>

namespace pawl::plan {

uint32_t Script::find(uint32_t list, std::string_view id) const {
  const List& in = lists[list];
  const auto id_at = [&](uint32_t position) -> std::string_view {
    return steps[in.steps[position]].id;
  };
  const auto found = std::lower_bound(
      in.by_id.begin(), in.by_id.end(), id,
      [&](uint32_t position, std::string_view wanted) { return id_at(position) < wanted; });
  return found != in.by_id.end() && id_at(*found) == id ? *found : kNoStep;
}

void Script::index(uint32_t list) {
  List& in = lists[list];
  in.by_id.resize(in.steps.size());
  std::iota(in.by_id.begin(), in.by_id.end(), 0u);
  std::sort(in.by_id.begin(), in.by_id.end(),
            [&](uint32_t a, uint32_t b) { return steps[in.steps[a]].id < steps[in.steps[b]].id; });
}

std::string iteration_name(uint32_t iteration) { return "iter_" + std::to_string(iteration); }
std::string branch_name(uint32_t branch) { return "branch_" + std::to_string(branch); }

}  // namespace pawl::plan
