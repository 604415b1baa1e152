#include "samples.h"

#include <gtest/gtest.h>

namespace pawl::bench {
namespace {

TEST(Samples, PercentilesAreMeasuredValues) {
  Samples samples;
  EXPECT_EQ(samples.percentile_ms(0.5), 0);
  for (int ms = 100; ms >= 1; --ms) samples.add(std::chrono::milliseconds(ms));
  EXPECT_EQ(samples.percentile_ms(0), 1);
  EXPECT_EQ(samples.percentile_ms(0.5), 50);
  EXPECT_EQ(samples.percentile_ms(0.99), 99);
  EXPECT_EQ(samples.percentile_ms(0.999), 100);
  EXPECT_EQ(samples.percentile_ms(1), 100);
}

TEST(Samples, ALateSampleMovesThePercentile) {
  Samples samples;
  samples.add(std::chrono::milliseconds(5));
  EXPECT_EQ(samples.percentile_ms(1), 5);
  samples.add(std::chrono::milliseconds(9));
  samples.add(std::chrono::milliseconds(1));
  EXPECT_EQ(samples.percentile_ms(1), 9);
  EXPECT_EQ(samples.percentile_ms(0.3), 1);
}

}  // namespace
}  // namespace pawl::bench
