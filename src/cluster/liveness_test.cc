#include "cluster/liveness.h"

#include <gtest/gtest.h>

namespace pawl::cluster {
namespace {

class LivenessTest : public testing::Test {
 protected:
  ClusterSeen beats(uint64_t beat) {
    return {true, {{"a", "1", beat}}, {{.id = 0, .epoch = 1, .node = "a", .incarnation = "1"}}};
  }
  Liveness liveness{3000, 1000};
};

TEST_F(LivenessTest, WhoseBeatStandsStillForALeaseIsDead) {
  for (int64_t now = 0; now < 3000; now += 500) {
    liveness.observe(now, beats(7));
    EXPECT_FALSE(liveness.is_dead("a", "1")) << now;
  }
  liveness.observe(3000, beats(7));
  EXPECT_TRUE(liveness.is_dead("a", "1"));
  EXPECT_EQ(*liveness.beat_of("a", "1"), 7u);
  liveness.observe(3500, beats(8));
  EXPECT_FALSE(liveness.is_dead("a", "1"));
}

TEST_F(LivenessTest, AfterAnOutageOfTheDatabaseNobodyIsDead) {
  liveness.observe(0, beats(7));
  liveness.observe(500, beats(7));
  liveness.observe(60'000, beats(7));
  EXPECT_FALSE(liveness.is_dead("a", "1")) << "nobody could beat, whoever lives";
  for (int64_t now = 60'500; now < 63'000; now += 500) {
    liveness.observe(now, beats(7));
    EXPECT_FALSE(liveness.is_dead("a", "1")) << now;
  }
  liveness.observe(63'000, beats(7));
  EXPECT_TRUE(liveness.is_dead("a", "1"));
}

TEST_F(LivenessTest, AnotherStartOfTheNodeEndsTheFormerOne) {
  liveness.observe(0, beats(7));
  ClusterSeen seen = beats(1);
  seen.nodes[0].incarnation = "2";
  liveness.observe(500, seen);
  EXPECT_TRUE(liveness.is_dead("a", "1"));
  EXPECT_FALSE(liveness.is_dead("a", "2"));
  EXPECT_EQ(liveness.beat_of("a", "1"), nullptr);
}

// The table of nodes is read first: a node may start and take partitions before the second read.
TEST_F(LivenessTest, AStartThatIsNotInTheTableOfNodesYetIsNotOver) {
  liveness.observe(0, beats(7));
  ClusterSeen seen = beats(7);
  seen.partitions[0].incarnation = "2";
  liveness.observe(500, seen);
  EXPECT_FALSE(liveness.is_dead("a", "2"));
  seen.nodes[0] = {"a", "2", 1};
  liveness.observe(1000, seen);
  EXPECT_FALSE(liveness.is_dead("a", "2"));
  // A third one stands where the second was seen.
  seen.nodes[0] = {"a", "3", 1};
  liveness.observe(1500, seen);
  EXPECT_TRUE(liveness.is_dead("a", "2"));
}

TEST_F(LivenessTest, AnOwnerWithoutARowIsDeadAfterALease) {
  ClusterSeen seen = beats(7);
  seen.nodes.clear();
  for (int64_t now = 0; now < 3000; now += 500) {
    liveness.observe(now, seen);
    EXPECT_FALSE(liveness.is_dead("a", "1")) << now;
  }
  liveness.observe(3000, seen);
  EXPECT_TRUE(liveness.is_dead("a", "1"));
}

TEST_F(LivenessTest, NothingIsKnownOfWhoWasNeverSeen) {
  liveness.observe(0, beats(7));
  EXPECT_FALSE(liveness.is_dead("b", "1"));
}

}  // namespace
}  // namespace pawl::cluster
