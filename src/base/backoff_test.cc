#include "base/backoff.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>

namespace pawl {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The delays after failures 1..count, without jitter.
std::string delays(BackoffStrategy strategy, int64_t initial_ms, double coefficient, int64_t max_ms,
                   uint32_t count = 5) {
  const BackoffPolicy policy{strategy, initial_ms, coefficient, max_ms, false};
  std::string out;
  for (uint32_t n = 1; n <= count; ++n) {
    out.append(out.empty() ? "" : " ").append(std::to_string(backoff_ms(policy, n, 0)));
  }
  return out;
}

TEST(Backoff, Tables) {
  using enum BackoffStrategy;
  EXPECT_EQ(delays(Exponential, 1000, 2.0, 300000, 10),
            "1000 2000 4000 8000 16000 32000 64000 128000 256000 300000");
  EXPECT_EQ(delays(Exponential, 100, 1.5, 300000), "100 150 225 338 506");
  EXPECT_EQ(delays(Exponential, 1000, 1.0, 300000), "1000 1000 1000 1000 1000");
  EXPECT_EQ(delays(Linear, 1000, 2.0, 3500), "1000 2000 3000 3500 3500");
  EXPECT_EQ(delays(Polynomial, 1000, 2.0, 20000), "1000 4000 9000 16000 20000");
  EXPECT_EQ(delays(Polynomial, 1000, 1.5, 300000), "1000 2828 5196 8000 11180");
  EXPECT_EQ(delays(None, 1000, 2.0, 300000), "1000 1000 1000 1000 1000");
  EXPECT_EQ(delays(Constant, 1000, 2.0, 300), "300 300 300 300 300");
}

TEST(Backoff, NothingOverflows) {
  using enum BackoffStrategy;
  for (BackoffStrategy strategy : {Exponential, Linear, Polynomial, None, Constant}) {
    for (double coefficient : {1.0, 2.0, 1e300, kInfinity}) {
      for (int64_t max_ms : {int64_t{1}, int64_t{300000}, INT64_MAX}) {
        const BackoffPolicy policy{strategy, INT64_MAX, coefficient, max_ms, true};
        for (uint32_t n : {1u, 2u, 63u, 64u, UINT32_MAX}) {
          const int64_t delay = backoff_ms(policy, n, UINT64_MAX);
          EXPECT_EQ(delay, max_ms) << static_cast<int>(strategy) << " " << coefficient << " " << n;
        }
      }
    }
    const BackoffPolicy zero{strategy, 0, kInfinity, 300000, true};
    EXPECT_EQ(backoff_ms(zero, UINT32_MAX, UINT64_MAX), 0);
  }
}

TEST(Backoff, SenselessPoliciesFallBackToTheSafeEdge) {
  using enum BackoffStrategy;
  EXPECT_EQ(delays(Exponential, 1000, kNan, 300000), "1000 1000 1000 1000 1000");
  EXPECT_EQ(delays(Exponential, 1000, 0.5, 300000), "1000 1000 1000 1000 1000");
  EXPECT_EQ(delays(Polynomial, 1000, -3.0, 300000), "1000 2000 3000 4000 5000");
  EXPECT_EQ(delays(Linear, -5, 2.0, 300000), "0 0 0 0 0");
  EXPECT_EQ(delays(Linear, 1000, 2.0, -1), "0 0 0 0 0");
  EXPECT_EQ(backoff_ms({Linear, 1000, 2.0, 300000, false}, 0, 0), 1000);
}

TEST(Backoff, JitterSpansHalfToOneAndAHalf) {
  const BackoffPolicy policy{BackoffStrategy::Constant, 1000, 2.0, 300000, true};
  EXPECT_EQ(backoff_ms(policy, 1, 0), 500);
  EXPECT_EQ(backoff_ms(policy, 1, uint64_t{1} << 63), 1000);
  EXPECT_EQ(backoff_ms(policy, 1, UINT64_MAX), 1499);
  // The cap is applied before and after jitter: a delay at the cap jitters below it, never above.
  const BackoffPolicy capped{BackoffStrategy::Constant, 9000, 2.0, 1000, true};
  EXPECT_EQ(backoff_ms(capped, 1, 0), 500);
  EXPECT_EQ(backoff_ms(capped, 1, UINT64_MAX), 1000);

  std::mt19937_64 random(5);
  int64_t sum = 0;
  constexpr int kDraws = 100000;
  for (int i = 0; i < kDraws; ++i) {
    const int64_t delay = backoff_ms(policy, 1, random());
    ASSERT_GE(delay, 500);
    ASSERT_LT(delay, 1500);
    sum += delay;
  }
  EXPECT_NEAR(static_cast<double>(sum) / kDraws, 999.5, 5.0);
}

// The roots must give what the library's pow gives, up to the rounding of a millisecond.
TEST(Backoff, PolynomialAgreesWithPow) {
  std::mt19937_64 random(6);
  std::uniform_real_distribution<double> exponents(1.0, 4.0);
  for (int i = 0; i < 10000; ++i) {
    const double exponent = exponents(random);
    const auto attempt = static_cast<uint32_t>(1 + random() % 100);
    const BackoffPolicy policy{BackoffStrategy::Polynomial, 1000, exponent, int64_t{1} << 50,
                               false};
    const double expected = 1000 * std::pow(attempt, exponent);
    ASSERT_NEAR(static_cast<double>(backoff_ms(policy, attempt, 0)), expected,
                0.501 + expected * 1e-11)
        << attempt << "^" << exponent;
  }
}

// Later failures never wait less, so a queue of failing work always thins out.
TEST(Backoff, DelaysNeverShrink) {
  std::mt19937_64 random(8);
  std::uniform_real_distribution<double> coefficients(1.0, 5.0);
  for (int i = 0; i < 300; ++i) {
    const auto strategy = static_cast<BackoffStrategy>(random() % 5);
    const BackoffPolicy policy{strategy, static_cast<int64_t>(random() % 10000),
                               coefficients(random), static_cast<int64_t>(random() % 10'000'000),
                               false};
    int64_t before = 0;
    for (uint32_t n = 1; n <= 60; ++n) {
      const int64_t delay = backoff_ms(policy, n, 0);
      ASSERT_GE(delay, before);
      ASSERT_LE(delay, policy.max_ms);
      before = delay;
    }
  }
}

}  // namespace
}  // namespace pawl
