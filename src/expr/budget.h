// Budget: what one evaluation, or several together, may still cost. Nothing in this module runs
// without one.
//
// A step is one operator or one element visited; long strings cost a step per 64 bytes. Bytes count
// all that is built, freed or not, so they bound both memory and copying. Running out is sticky and
// no operator can absorb it: the evaluation ends with a TooLarge error that names the limit.
//
// Thread: one at a time.
#pragma once

#include <cstdint>

namespace pawl::expr {

struct BudgetLimits {
  uint64_t steps_max = 1'000'000;
  uint64_t bytes_max = 32u << 20;
  uint32_t depth_max = 512;  // of operators within operators; see Program::depth()
};

class Budget {
 public:
  enum class Exceeded : uint8_t { None, Steps, Bytes, Depth };

  explicit Budget(const BudgetLimits& limits = {})
      : limits_(limits), steps_left_(limits.steps_max), bytes_left_(limits.bytes_max) {}

  bool spend_steps(uint64_t steps) {
    if (steps > steps_left_) return exceed(Exceeded::Steps);
    steps_left_ -= steps;
    return true;
  }
  bool spend_bytes(uint64_t bytes) {
    if (bytes > bytes_left_) return exceed(Exceeded::Bytes);
    bytes_left_ -= bytes;
    return true;
  }
  bool allow_depth(uint32_t depth) { return depth <= limits_.depth_max || exceed(Exceeded::Depth); }

  Exceeded exceeded() const { return exceeded_; }
  const BudgetLimits& limits() const { return limits_; }
  uint64_t steps_spent() const { return limits_.steps_max - steps_left_; }
  uint64_t bytes_spent() const { return limits_.bytes_max - bytes_left_; }

 private:
  bool exceed(Exceeded what) {
    if (exceeded_ == Exceeded::None) exceeded_ = what;
    if (what == Exceeded::Steps) steps_left_ = 0;
    if (what == Exceeded::Bytes) bytes_left_ = 0;
    return false;
  }

  BudgetLimits limits_;
  uint64_t steps_left_;
  uint64_t bytes_left_;
  Exceeded exceeded_ = Exceeded::None;
};

}  // namespace pawl::expr
