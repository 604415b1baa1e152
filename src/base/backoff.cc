#include "base/backoff.h"

#include <algorithm>
#include <cmath>

namespace pawl {
namespace {

// base^exponent by squaring: at most 64 multiplications; infinity if too large.
double power(double base, uint32_t exponent) {
  double result = 1.0;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result *= base;
    base *= base;
  }
  return result;
}

// base^exponent for base >= 1 and exponent >= 1: the whole part by squaring, the binary digits of
// the fraction by roots (base^0.101b is base^(1/2) * base^(1/8)).
double power(double base, double exponent) {
  constexpr double kExponentMax = 2048;  // 2^2048 is infinite already
  constexpr int kFractionDigits = 40;
  exponent = std::min(exponent, kExponentMax);
  const double whole = std::floor(exponent);
  double result = power(base, static_cast<uint32_t>(whole));
  double fraction = exponent - whole;
  double root = base;
  for (int digit = 0; digit < kFractionDigits && fraction > 0; ++digit) {
    root = std::sqrt(root);
    fraction *= 2;
    if (fraction >= 1) {
      result *= root;
      fraction -= 1;
    }
  }
  return result;
}

// initial * factor to the nearest millisecond, at most max. The factor is at least 1 and may be
// infinite.
int64_t scaled(int64_t initial_ms, double factor, int64_t max_ms) {
  if (initial_ms == 0) return 0;
  const double product = static_cast<double>(initial_ms) * factor;
  if (product >= static_cast<double>(max_ms)) return max_ms;
  return std::min<int64_t>(std::llround(product), max_ms);
}

int64_t jittered(int64_t delay_ms, uint64_t entropy) {
  // (2^31 + u) / 2^32 with u below 2^32 lies in [0.5, 1.5).
  using Wide = __int128;
  const Wide numerator = (Wide{1} << 31) + static_cast<Wide>(entropy >> 32);
  return static_cast<int64_t>(std::min<Wide>(Wide{delay_ms} * numerator >> 32, INT64_MAX));
}

}  // namespace

int64_t backoff_ms(const BackoffPolicy& policy, uint32_t failed_attempt, uint64_t entropy) {
  const int64_t initial_ms = std::max<int64_t>(policy.initial_ms, 0);
  const int64_t max_ms = std::max<int64_t>(policy.max_ms, 0);
  const double coefficient = policy.coefficient >= 1.0 ? policy.coefficient : 1.0;
  const uint32_t attempt = std::max<uint32_t>(failed_attempt, 1);
  int64_t delay_ms = 0;
  switch (policy.strategy) {
    case BackoffStrategy::Exponential:
      delay_ms = scaled(initial_ms, power(coefficient, attempt - 1), max_ms);
      break;
    case BackoffStrategy::Linear:
      delay_ms = initial_ms > max_ms / attempt ? max_ms : initial_ms * attempt;
      break;
    case BackoffStrategy::Polynomial:
      delay_ms = scaled(initial_ms, power(static_cast<double>(attempt), coefficient), max_ms);
      break;
    case BackoffStrategy::None:
    case BackoffStrategy::Constant:
      delay_ms = std::min(initial_ms, max_ms);
      break;
  }
  if (!policy.jitter) return delay_ms;
  return std::min(jittered(delay_ms, entropy), max_ms);
}

}  // namespace pawl
