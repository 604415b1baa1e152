// Sources of time and randomness. The kernel uses neither: both enter as journaled input. Each has
// two implementations: the machine's and the simulator's.
#pragma once

#include <cstdint>

namespace pawl {

struct Clock {
  virtual ~Clock() = default;
  virtual int64_t now_ms() = 0;  // wall time, Unix milliseconds; may jump
};

struct Random {
  virtual ~Random() = default;
  virtual uint64_t next() = 0;
};

class SystemClock : public Clock {
 public:
  int64_t now_ms() override;
};

// Seeded by the kernel's entropy; not for secrets (see secret.h). One per thread.
class SystemRandom : public Random {
 public:
  SystemRandom();
  uint64_t next() override;

 private:
  uint64_t state_[2];
};

// One step of splitmix64: turns a counter into well-spread bits. Used to derive many values from
// one entropy.
inline uint64_t mix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
  return x ^ x >> 31;
}

}  // namespace pawl
