#include "samples.h"

#include <algorithm>
#include <cmath>

namespace pawl::bench {

double Samples::percentile_ms(double share) {
  if (values_.empty()) return 0;
  if (!sorted_) {
    std::sort(values_.begin(), values_.end());
    sorted_ = true;
  }
  const double rank = std::ceil(share * static_cast<double>(values_.size()));
  const size_t index = rank < 1 ? 0 : static_cast<size_t>(rank) - 1;
  return std::chrono::duration<double, std::milli>(values_[std::min(index, values_.size() - 1)])
      .count();
}

}  // namespace pawl::bench
