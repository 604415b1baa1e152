// What a job of a run gets to see of the jobs before it.
#include "kernel/compositions/run_values.h"

#include <gtest/gtest.h>

#include "kernel/mutable_state.h"
#include "kernel/testing/run_world.h"
#include "plan/ojs/plan_node.h"

namespace pawl {
namespace {

TEST(ParentResults, OfAChainAreThoseOfAllStepsBefore) {
  RunWorld world;
  world.start(chain({step(), step(), step(), step()}));
  EXPECT_EQ(world.parents("j1"), "[]");
  world.pass(R"({"order":1})");
  EXPECT_EQ(world.parents("j2"), R"([{"order":1}])");
  world.pass();  // a step without a result keeps its place
  EXPECT_EQ(world.parents("j3"), R"([{"order":1},null])");
  world.pass("3");
  world.restart_from_rows();
  EXPECT_EQ(world.parents("j4"), R"([{"order":1},null,3])");
  EXPECT_EQ(world.parents_by_name("j4"), R"({"0":{"order":1},"1":null,"2":3})");
}

TEST(ParentResults, OfAGroupIsAnObjectByIndex) {
  RunWorld world;
  world.start(chain({step(), group({step(), step(), step()}), step()}));
  world.pass("0");
  EXPECT_EQ(world.parents("j2"), "[0]");  // a group's jobs see what came before the group
  EXPECT_EQ(world.parents("j4"), "[0]");
  world.pass("10");
  world.pass();
  world.pass("30");
  EXPECT_EQ(world.parents("j5"), R"([0,{"0":10,"1":null,"2":30}])");
}

TEST(ParentResults, OfACallbackAreThoseOfAllJobsFailedOnesToo) {
  RunWorld world;
  world.start(batch({step(), step(), step({.expires_ms = world.now_ms + 1}), step()}, {kComplete}));
  world.pass("1");
  world.fail();
  world.cancel("j4");
  world.advance(1);
  EXPECT_EQ(
      world.parents("j5"),
      R"([1,{"error":{"code":"E","type":"E","message":"","job_id":"j2","attempt":1}},)"
      R"({"error":{"code":"expired","message":"the job expired before a worker took it","job_id":"j3","attempt":0}},)"
      R"({"error":{"code":"cancelled","message":"the job was cancelled","job_id":"j4","attempt":0}}])");
}

TEST(ParentResults, OfANestedChainBeginWithTheOuterOnes) {
  RunWorld world;
  world.start(chain({step(), group({chain({step(), step()}), step()}), step()}));
  world.pass("0");
  EXPECT_EQ(world.parents("j2"), "[0]");  // first of its chain: inherits
  world.pass("1");
  EXPECT_EQ(world.parents("j4"), "[1]");  // second: its own chain's
  world.pass("2");
  world.pass("3");
  EXPECT_EQ(world.parents("j5"), R"([0,{"0":3,"1":2}])");
}

TEST(ParentResults, OfABatchInsideAreItsJobsResults) {
  RunWorld world;
  world.start(chain({batch({group({step(), step()}), step()}, {kSuccess}), step()}));
  world.pass("1");
  world.pass("2");
  world.pass("3");
  EXPECT_EQ(world.parents("j4"), R"([{"0":1,"1":2},3])");
  world.pass(R"("called")");
  EXPECT_EQ(world.parents("j5"), R"([{"0":{"0":1,"1":2},"1":3}])");
}

TEST(ParentResults, OfADagAreItsDependenciesByName) {
  RunWorld world;
  world.start(dag({named("a"), named("b"), named("c", {1, 0})}));
  world.pass("1");
  world.pass("2");
  EXPECT_EQ(world.parents("j3"), "[2,1]");
  EXPECT_EQ(world.parents_by_name("j3"), R"({"b":2,"a":1})");
}

TEST(ParentResults, OfASkippedStepIsNull) {
  RunWorld world;
  world.start(chain({step(), when("false"), step()}));
  world.pass("1");
  EXPECT_EQ(world.parents("j2"), "[1,null]");
}

TEST(ParentResults, OfALongChainAreTheLatest) {
  RunWorld world;
  world.start(chain(std::vector<PlanNode>(kParentResultsMax + 3, step())));
  for (uint32_t i = 0; i < kParentResultsMax + 2; ++i) world.pass(std::to_string(i));
  std::string seen = world.parents("j" + std::to_string(kParentResultsMax + 3));
  EXPECT_EQ(seen.substr(0, 5), "[2,3,");
}

TEST(AdmitRun, AFullQueueRefusesTheWholeRun) {
  RunWorld world;
  world.push();
  world.configure("q", [](QueueSettings& settings) { settings.depth_max = 1; });
  EXPECT_EQ(world.start(chain({group({step()})})),
            "rejected QUEUE_FULL: queue 'q' holds at most 1 jobs: 1 wait, and the workflow starts "
            "with 1");
}

// What one workflow starts with counts together; what it starts later does not count yet.
TEST(AdmitRun, TheJobsOfTheRunItselfCount) {
  auto starts = [](const PlanNode& plan) {
    RunWorld world;
    world.push();
    world.configure("q", [](QueueSettings& settings) { settings.depth_max = 3; });
    std::string story = world.start(plan);
    size_t at = story.find("starts with ");
    return at == std::string::npos ? "" : story.substr(at + 12);
  };
  PlanNode two = group({step(), step()});
  EXPECT_EQ(starts(two), "");
  EXPECT_EQ(starts(group({two, step()})), "3");
  EXPECT_EQ(starts(chain({two, two, two})), "");
  EXPECT_EQ(starts(chain({group({two, two}), step()})), "4");
  EXPECT_EQ(starts(batch({step(), step({.queue = "other"}), step({.queue = "other"})})), "");
  EXPECT_EQ(starts(dag({named("a"), named("b"), named("c", {0}), named("d", {1})})), "");
  EXPECT_EQ(starts(dag({named("a"), named("b"), named("c")})), "3");
  EXPECT_EQ(starts(map_over("[1,2,3]")), "3");
  EXPECT_EQ(starts(map_over("[1,2,3]", 2)), "");
  EXPECT_EQ(starts(group({map_over("[1,2]"), step()})), "3");
  EXPECT_EQ(starts(chain({step(), map_over("[1,2,3,4]")})), "");
}

}  // namespace
}  // namespace pawl
