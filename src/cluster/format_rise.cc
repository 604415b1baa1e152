#include "cluster/format_rise.h"

#include <algorithm>

namespace pawl::cluster {

std::optional<uint64_t> risen_format(uint64_t in_force, const std::vector<uint64_t>& spoken) {
  const auto speaks_next = [&](uint64_t newest) { return newest > in_force; };
  if (spoken.empty() || !std::all_of(spoken.begin(), spoken.end(), speaks_next))
    return std::nullopt;
  return in_force + 1;
}

}  // namespace pawl::cluster
