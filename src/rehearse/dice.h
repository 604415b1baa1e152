// Dice: the only randomness in a rehearsal. The same seed gives the same numbers, so a run can be
// repeated. Thread: one at a time.
#pragma once

#include "base/clock.h"

namespace pawl::rehearse {

class Dice : public Random {
 public:
  explicit Dice(uint64_t seed) : state_(mix64(seed)) {}
  uint64_t next() override { return mix64(state_ += 0x632be59bd9b4e019ULL); }
  uint64_t below(uint64_t bound) { return bound == 0 ? 0 : next() % bound; }
  bool percent(uint64_t chance) { return below(100) < chance; }

 private:
  uint64_t state_;
};

class VirtualClock : public Clock {
 public:
  explicit VirtualClock(int64_t start_ms) : now_ms_(start_ms) {}
  int64_t now_ms() override { return now_ms_; }
  // Never backwards.
  void move_to(int64_t ms) { now_ms_ = ms > now_ms_ ? ms : now_ms_; }

 private:
  int64_t now_ms_;
};

}  // namespace pawl::rehearse
