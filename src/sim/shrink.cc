#include "sim/shrink.h"

#include <algorithm>
#include <numeric>

#include "sim/isolated.h"

namespace pawl::sim {
namespace {

class Shrinker {
 public:
  Shrinker(const SimOptions& options, uint32_t tries_max) : tries_max_(tries_max) {
    best_.options = options;
    best_.options.trace = false;
    best_.report = run_isolated(best_.options);
    checker_ = best_.report.checker;
  }

  Shrunk run() {
    if (best_.report.ok) return best_;
    std::vector<uint32_t> steps = first_steps();
    if (!holds_with(steps)) return best_;
    for (size_t chunk = std::max<size_t>(steps.size() / 2, 1); !spent(); chunk = chunk / 2) {
      bool removed = remove_chunks(steps, chunk);
      if (chunk == 1 && !removed) break;
      if (chunk == 1) chunk = 2;  // a step that was needed before may be removable now
    }
    return best_;
  }

 private:
  bool spent() const { return best_.tries >= tries_max_; }

  std::vector<uint32_t> first_steps() const {
    if (best_.options.only) return *best_.options.only;
    std::vector<uint32_t> steps(best_.report.steps_done);
    std::iota(steps.begin(), steps.end(), 0);
    return steps;
  }

  // Another broken invariant is a different failure.
  bool holds_with(const std::vector<uint32_t>& steps) {
    ++best_.tries;
    SimOptions options = best_.options;
    options.only = steps;
    SimReport report = run_isolated(options);
    if (report.ok || report.checker != checker_) return false;
    best_.options = std::move(options);
    best_.report = std::move(report);
    return true;
  }

  bool remove_chunks(std::vector<uint32_t>& steps, size_t chunk) {
    bool removed = false;
    for (size_t end = steps.size(); end > 0 && !spent();) {
      size_t begin = end > chunk ? end - chunk : 0;
      std::vector<uint32_t> fewer = steps;
      fewer.erase(fewer.begin() + static_cast<ptrdiff_t>(begin),
                  fewer.begin() + static_cast<ptrdiff_t>(end));
      if (holds_with(fewer)) {
        steps = std::move(fewer);
        removed = true;
      }
      end = begin;
    }
    return removed;
  }

  const uint32_t tries_max_;
  std::string checker_;
  Shrunk best_;
};

}  // namespace

Shrunk shrink(const SimOptions& options, uint32_t tries_max) {
  return Shrinker(options, tries_max).run();
}

}  // namespace pawl::sim
