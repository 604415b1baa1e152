// Budget: how much one evaluation, or several together, may still cost. Nothing in this module runs
// without a budget.
//
// A step is about 50 ns of a 2020s core for any kind of work: no function may take more than about
// four times that for the steps it pays, and it pays before it works (price:: below; cost_test.cc
// tests every function of every language). So a million steps, the default, are
// some 50 ms. Bytes count all that is built, freed or not, so they bound both memory and copying.
// Running out is sticky and no operator can absorb it: the evaluation ends with a TooLarge error
// that names the limit.
//
// Steps are counted, never timed, and do not depend on what a cache happens to hold: the same
// evaluation costs the same in every replay.
//
// Thread: one at a time.
#pragma once

#include <cstdint>

namespace pawl::expr {

struct BudgetLimits {
  uint64_t steps_max = 1'000'000;
  uint64_t bytes_max = 32u << 20;
  uint32_t depth_max = 512;  // of nested operators; see Program::depth()
};

// The budget for compiling one expression, schema or whole definition: about 0.2 s.
inline constexpr uint64_t kCompileStepsMax = 4'000'000;

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

// Costs of work in steps.
namespace price {

// Reading each byte once, or copying it: comparing, counting code points, changing case.
constexpr uint64_t reading(uint64_t bytes) { return bytes / 64; }
// Byte by byte with a decision at each: searching (both texts together), escaping, encoding.
constexpr uint64_t scanning(uint64_t bytes) { return bytes / 16; }
// Copying values that are shared by counting.
constexpr uint64_t copying(uint64_t elements) { return elements / 4; }
// Sorting: how often each of the elements is compared.
constexpr uint64_t rounds(uint64_t elements) {
  uint64_t count = 1;
  for (; elements > 1; elements /= 2) ++count;
  return count;
}
// A regular expression at work: RE2's slowest engine looks at every instruction for every byte.
constexpr uint64_t matching(uint64_t instructions, uint64_t bytes) {
  return 1 + instructions * (bytes + 1) / 32;
}
// An error value with its message.
inline constexpr uint64_t kFailure = 2;
// Compiling an expression, by its source.
constexpr uint64_t compiling(uint64_t bytes) { return 16 + 2 * bytes; }

}  // namespace price

}  // namespace pawl::expr
