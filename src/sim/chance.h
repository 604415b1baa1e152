// The simulator's clock and dice: everything that happens in a simulated world is drawn from one
// seed.
#pragma once

#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/clock.h"

namespace pawl::sim {

class SimRandom : public Random {
 public:
  explicit SimRandom(uint64_t seed) : state_(mix64(seed)) {}

  void restart(uint64_t seed) { state_ = mix64(seed); }
  uint64_t next() override { return mix64(state_ += kStride); }
  uint64_t below(uint64_t bound) {
    PAWL_CHECK(bound > 0);
    return next() % bound;
  }
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(below(static_cast<uint64_t>(high - low + 1)));
  }
  bool percent(uint64_t chance) { return below(100) < chance; }
  template <class T>
  const T& pick(const std::vector<T>& list) {
    return list[below(list.size())];
  }

 private:
  static constexpr uint64_t kStride = 0x2545f4914f6cdd1dULL;

  uint64_t state_;
};

// Set by the world, also backwards. Frozen: the planted bug of an engine that does not read the
// clock.
class SimClock : public Clock {
 public:
  explicit SimClock(int64_t start_ms) : now_ms_(start_ms), frozen_ms_(start_ms) {}

  int64_t now_ms() override { return frozen_ ? frozen_ms_ : now_ms_; }
  int64_t true_ms() const { return now_ms_; }
  void move(int64_t by_ms) { now_ms_ += by_ms; }
  void freeze() { frozen_ = true; }

 private:
  int64_t now_ms_;
  int64_t frozen_ms_;
  bool frozen_ = false;
};

}  // namespace pawl::sim
