#include "cluster/format_rise.h"

#include <gtest/gtest.h>

namespace pawl::cluster {
namespace {

TEST(FormatRise, ItRisesOnceEveryNodeSpeaksTheNext) {
  EXPECT_EQ(risen_format(1, {2, 2, 2}), 2U);
  EXPECT_EQ(risen_format(1, {2, 1, 2}), std::nullopt);
}

TEST(FormatRise, StepByStepAndNeverDown) {
  EXPECT_EQ(risen_format(1, {3, 4}), 2U);
  EXPECT_EQ(risen_format(3, {3, 4}), std::nullopt);
  EXPECT_EQ(risen_format(3, {1, 2}), std::nullopt);
}

TEST(FormatRise, WithoutNodesNothingIsKnown) { EXPECT_EQ(risen_format(1, {}), std::nullopt); }

}  // namespace
}  // namespace pawl::cluster
