// Samples: durations of one run, kept whole, so that a percentile is a measured value and not the
// edge of a bucket. 8 bytes each; callers bound the count (rate × seconds).
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

namespace pawl::bench {

using Clock = std::chrono::steady_clock;

inline double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

class Samples {
 public:
  void reserve(size_t count) { values_.reserve(count); }
  void add(std::chrono::nanoseconds value) {
    values_.push_back(value);
    sorted_ = false;
  }
  size_t count() const { return values_.size(); }

  // The smallest sample that at least `share` (0 to 1) of all samples do not exceed; 0 if there is
  // none.
  double percentile_ms(double share);

 private:
  std::vector<std::chrono::nanoseconds> values_;
  bool sorted_ = true;
};

}  // namespace pawl::bench
