#include "base/clock.h"

#include <sys/random.h>

#include <chrono>

#include "base/check.h"

namespace pawl {

int64_t SystemClock::now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

SystemRandom::SystemRandom() { PAWL_CHECK(getrandom(state_, sizeof state_, 0) == sizeof state_); }

uint64_t SystemRandom::next() {
  uint64_t a = state_[0];
  uint64_t b = state_[1];
  state_[0] = b;
  a ^= a << 23;
  state_[1] = a ^ b ^ a >> 18 ^ b >> 5;
  return state_[1] + b;
}

}  // namespace pawl
