#include "front/queue_heat.h"

#include <gtest/gtest.h>

namespace pawl::front {
namespace {

TEST(QueueHeat, AQueueIsSpreadWhileItGetsMoreThanOnePartitionShouldTake) {
  QueueHeat heat;
  EXPECT_FALSE(heat.note("q", QueueHeat::kHotPerSecond - 1, 1'000));
  EXPECT_TRUE(heat.note("q", 1, 1'999));
  EXPECT_FALSE(heat.note("other", 1, 1'999));
  EXPECT_TRUE(heat.note("q", QueueHeat::kCoolPerSecond, 2'000)) << "still warm";
  EXPECT_TRUE(heat.note("q", 1, 3'000));
  EXPECT_FALSE(heat.note("q", 1, 4'000)) << "one job in the second before";
}

TEST(QueueHeat, AQueueThatRestedIsCool) {
  QueueHeat heat;
  EXPECT_TRUE(heat.note("q", QueueHeat::kHotPerSecond, 1'000));
  EXPECT_FALSE(heat.note("q", 1, 60'000));
}

TEST(QueueHeat, KnowsABoundedNumberOfQueues) {
  QueueHeat heat;
  for (size_t i = 0; i < QueueHeat::kQueuesMax; ++i) heat.note(std::to_string(i), 1, 1'000);
  EXPECT_FALSE(heat.note("one too many", QueueHeat::kHotPerSecond, 1'000));
  EXPECT_TRUE(heat.note("later", QueueHeat::kHotPerSecond, 9'000)) << "the old ones are forgotten";
}

}  // namespace
}  // namespace pawl::front
