// Backoff: how long to wait after the n-th failure.
//
//   exponential  initial * coefficient^(n-1)      linear  initial * n
//   polynomial   initial * n^coefficient          none, constant  initial
// capped at max_ms, then with jitter multiplied by a uniform factor from [0.5, 1.5), then capped
// again.
//
// The same arguments give the same milliseconds on every machine, so a delay may be recomputed in a
// replay. Doubles are only multiplied, square-rooted and rounded, which IEEE 754 defines to the
// last bit and a compiler cannot fuse; std::pow, which libraries round differently, is not used.
// The jitter is integer arithmetic.
//
// Total: no argument overflows or fails. Thread: any.
#pragma once

#include <cstdint>

namespace pawl {

enum class BackoffStrategy : uint8_t { Exponential, Linear, Polynomial, None, Constant };

struct BackoffPolicy {
  BackoffStrategy strategy = BackoffStrategy::Exponential;
  int64_t initial_ms = 1000;  // negative counts as 0
  double coefficient = 2.0;   // anything but a number of at least 1 counts as 1
  int64_t max_ms = 300'000;   // negative counts as 0
  bool jitter = true;

  bool operator==(const BackoffPolicy&) const = default;
};

// failed_attempt counts from 1 (0 counts as 1). Jitter uses the upper 32 bits of entropy, which
// must be uniform.
int64_t backoff_ms(const BackoffPolicy& policy, uint32_t failed_attempt, uint64_t entropy);

}  // namespace pawl
