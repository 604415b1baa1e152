// How runs advance. r1/0 is the first child of run r1.
#include "kernel/compositions/run_flow.h"

#include <gtest/gtest.h>

#include "kernel/mutable_state.h"
#include "kernel/state_config.h"
#include "kernel/testing/run_world.h"
#include "plan/ojs/plan_node.h"

namespace pawl {
namespace {

// --- chain

TEST(Chain, OneStepAfterTheOther) {
  RunWorld world;
  EXPECT_EQ(world.start(chain({step(), step()})),
            "RunCreated(r1 chain of 2) | JobCreated(j1 available)");
  EXPECT_EQ(world.fetch(2), "JobLeased(j1 w1 #1) | RunStarted(r1)");
  EXPECT_EQ(world.ack("j1"),
            "JobCompleted(j1) | RunChildDone(r1/0 done) | JobCreated(j2 available)");
  EXPECT_EQ(world.pass(), "JobCompleted(j2) | RunChildDone(r1/1 done) | RunFinished(r1 completed)");
}

TEST(Chain, AFailedStepEndsIt) {
  RunWorld world;
  world.start(chain({step(), step(), step()}));
  world.pass();
  EXPECT_EQ(
      world.fail(),
      "JobFailed(j2 #1 discarded E) | RunChildDone(r1/1 failed) | RunFinished(r1 failed: step 1 "
      "failed)");
  EXPECT_EQ(world.pass(), "nobody waits");
  EXPECT_EQ(world.how("r1"), "failed 1+1-0/3");
}

// Only the last attempt counts; until then the step is simply not done.
TEST(Chain, AStepThatIsTriedAgainIsNoFailure) {
  RunWorld world;
  world.start(chain({step({}, TestSpec{}), step()}));
  EXPECT_EQ(world.fail(), "JobFailed(j1 #1 retryable +1000 E)");
  EXPECT_EQ(world.how("r1"), "running 0+0-0/2");
  world.advance(1000);
  EXPECT_EQ(world.pass(), "JobCompleted(j1) | RunChildDone(r1/0 done) | JobCreated(j2 available)");
}

TEST(Chain, ALeaseThatRunsOutOnTheLastAttemptEndsIt) {
  RunWorld world;
  world.start(chain({step(), step()}));
  world.take();
  EXPECT_EQ(world.advance(kTestLeaseMs),
            "JobFailed(j1 #1 discarded lease_expired) | RunChildDone(r1/0 failed) | RunFinished(r1 "
            "failed: step 0 failed)");
}

TEST(Chain, TenThousandStepsCostFourEventsEach) {
  RunWorld world;
  constexpr size_t kSteps = 10'000;
  world.start(chain(std::vector<PlanNode>(kSteps, step())));
  size_t bytes = 0;
  size_t before = world.journal().size();
  ASSERT_EQ(world.pass_all(kSteps + 1), kSteps);
  EXPECT_EQ(world.how("r1"), "completed 10000+0-0/10000");
  EXPECT_EQ(world.journal().size() - before, 2 * kSteps);
  for (size_t i = before; i < world.journal().size(); ++i) bytes += world.journal()[i].size();
  EXPECT_LT(bytes / kSteps, 400u);  // no event repeats the plan
}

// --- group

TEST(Group, AllAtOnceAndTheLastOneEndsIt) {
  RunWorld world;
  EXPECT_EQ(world.start(group({step(), step()})),
            "RunCreated(r1 group of 2) | JobCreated(j1 available) | JobCreated(j2 available)");
  EXPECT_EQ(world.pass(), "JobCompleted(j1) | RunChildDone(r1/0 done)");
  EXPECT_EQ(world.pass(), "JobCompleted(j2) | RunChildDone(r1/1 done) | RunFinished(r1 completed)");
}

TEST(Group, AFailureDoesNotTouchTheOthers) {
  RunWorld world;
  world.start(group({step(), step(), step()}));
  EXPECT_EQ(world.fail(), "JobFailed(j1 #1 discarded E) | RunChildDone(r1/0 failed)");
  world.pass();
  EXPECT_EQ(world.pass(),
            "JobCompleted(j3) | RunChildDone(r1/2 done) | RunFinished(r1 failed: 1 of 3 failed)");
}

TEST(Group, ACancelledOrExpiredMemberCountsAsFailed) {
  RunWorld world;
  world.start(group({step(), step({.expires_ms = world.now_ms + 5}), step()}));
  EXPECT_EQ(world.cancel("j1"), "JobCancelled(j1 asked) | RunChildDone(r1/0 failed)");
  EXPECT_EQ(world.advance(5), "JobExpired(j2) | RunChildDone(r1/1 failed)");
  EXPECT_EQ(world.pass(),
            "JobCompleted(j3) | RunChildDone(r1/2 done) | RunFinished(r1 failed: 2 of 3 failed)");
}

// A job that an operator revives from the dead letters runs, but its workflow has ended.
TEST(Group, ADeadLetterRetryDoesNotReopenIt) {
  RunWorld world;
  world.start(group({step(), step()}));
  world.fail();
  world.pass();
  EXPECT_EQ(world.revive("j1"), "JobRevived(j1)");
  EXPECT_EQ(world.pass(), "JobCompleted(j1)");
  EXPECT_EQ(world.how("r1"), "failed 1+1-0/2");
}

TEST(Group, ARevivedMemberIsCountedOnce) {
  RunWorld world;
  world.start(group({step(), step()}));
  world.fail();
  world.revive("j1");
  world.pass();  // j2 or j1: both
  world.pass();
  EXPECT_EQ(world.how("r1"), "failed 1+1-0/2");
}

TEST(Group, AMemberWithATakenUniqueKeyFailsWithoutAJob) {
  RunWorld world;
  NewJob unique{.unique = {.key = std::string(16, 'k'), .states = 0x5e}};
  world.push(new_job(unique));
  EXPECT_EQ(
      world.start(group({step(unique), step()})),
      "RunCreated(r1 group of 2) | JobCreated(j2 available) | RunChildDone(r1/0 failed: a job "
      "with the same unique key exists: j1)");
  world.pass();
  EXPECT_EQ(world.pass(),
            "JobCompleted(j2) | RunChildDone(r1/1 done) | RunFinished(r1 failed: 1 of 2 failed)");
  EXPECT_EQ(world.retry("r1"), "RunRetried(r1 0) | JobCreated(j3 available)");
  world.pass();
  EXPECT_EQ(world.how("r1"), "completed 2+0-0/2");
}

TEST(Group, AMemberThatReplacesAnotherEndsItInItsRun) {
  RunWorld world;
  NewJob unique{
      .unique = {.key = std::string(16, 'k'), .states = 0x5e, .on_conflict = OnConflict::Replace}};
  EXPECT_EQ(world.start(group({step(unique), step(unique)})),
            "RunCreated(r1 group of 2) | JobCreated(j1 available) | JobCancelled(j1 replaced by a "
            "newer unique job) | JobCreated(j2 available) | RunChildDone(r1/0 failed)");
  EXPECT_EQ(world.pass(),
            "JobCompleted(j2) | RunChildDone(r1/1 done) | RunFinished(r1 failed: 1 of 2 failed)");
}

// --- batch

TEST(Batch, SuccessFiresOnCompleteAndOnSuccess) {
  RunWorld world;
  world.start(batch({step(), step()}));
  world.pass();
  EXPECT_EQ(
      world.pass(),
      "JobCompleted(j2) | RunChildDone(r1/1 done) | RunCallbackFired(r1 on_complete j3) | "
      "RunCallbackFired(r1 on_success j4) | JobCreated(j3 available) | JobCreated(j4 available)");
  EXPECT_EQ(world.how("r1"), "running 2+0-0/2");
  EXPECT_EQ(world.pass(), "JobCompleted(j3) | RunChildDone(r1/on_complete done)");
  EXPECT_EQ(world.pass(),
            "JobCompleted(j4) | RunChildDone(r1/on_success done) | RunFinished(r1 completed)");
}

TEST(Batch, AFailureFiresOnCompleteAndOnFailure) {
  RunWorld world;
  world.start(batch({step(), step()}));
  world.pass();
  EXPECT_EQ(world.fail(),
            "JobFailed(j2 #1 discarded E) | RunChildDone(r1/1 failed) | RunCallbackFired(r1 "
            "on_complete j3) | RunCallbackFired(r1 on_failure j4) | JobCreated(j3 available) | "
            "JobCreated(j4 available)");
  world.pass();
  EXPECT_EQ(world.pass(),
            "JobCompleted(j4) | RunChildDone(r1/on_failure done) | RunFinished(r1 completed)");
}

TEST(Batch, WithoutACallbackForItsOutcomeItIsOverAtOnce) {
  RunWorld world;
  world.start(batch({step()}, {kSuccess}));
  EXPECT_EQ(world.fail(),
            "JobFailed(j1 #1 discarded E) | RunChildDone(r1/0 failed) | RunFinished(r1 completed)");
  world.start(batch({step()}, {kFailure}));
  EXPECT_EQ(world.pass(), "JobCompleted(j2) | RunChildDone(r2/0 done) | RunFinished(r2 completed)");
}

TEST(Batch, ACallbackIsTriedAgainAndItsLastFailureFailsTheBatch) {
  RunWorld world;
  TestSpec twice;
  twice.retry.max_attempts = 2;
  world.start(call_back(compose(RunKind::Batch, {step()}), {kComplete, kSuccess}, twice));
  world.pass();
  EXPECT_EQ(world.fail(), "JobFailed(j2 #1 retryable +1000 E)");
  world.pass();
  world.advance(1000);
  EXPECT_EQ(world.fail(),
            "JobFailed(j2 #2 discarded E) | RunChildDone(r1/on_complete failed) | RunFinished(r1 "
            "failed: callback failed: on_complete)");
}

TEST(Batch, ACancelledCallbackFailsTheBatch) {
  RunWorld world;
  world.start(batch({step()}, {kComplete}));
  world.pass();
  EXPECT_EQ(world.cancel("j2"),
            "JobCancelled(j2 asked) | RunChildDone(r1/on_complete failed) | RunFinished(r1 failed: "
            "callback failed: on_complete)");
}

TEST(Batch, FiftyThousandJobsCostTwoEventsEachToEnd) {
  RunWorld world;
  constexpr size_t kJobs = 50'000;
  world.start(batch(std::vector<PlanNode>(kJobs, step()), {kComplete}));
  size_t events = 0;
  auto count = [&](const std::string& story) {
    for (size_t at = 0; (at = story.find('(', at)) != std::string::npos; ++at) ++events;
  };
  for (size_t i = 0; i < kJobs; i += 500) world.fetch(500);
  for (size_t i = 1; i <= kJobs; ++i) count(world.ack("j" + std::to_string(i)));
  EXPECT_EQ(events, 2 * kJobs + 2);
  EXPECT_EQ(world.how("r1"), "running 50000+0-0/50000");
  EXPECT_EQ(world.pass(),
            "JobCompleted(j50001) | RunChildDone(r1/on_complete done) | RunFinished(r1 completed)");
}

// --- nesting

TEST(Nested, AGroupIsAStepOfAChain) {
  RunWorld world;
  world.start(chain({step(), group({step(), step()}), step()}));
  EXPECT_EQ(world.pass(),
            "JobCompleted(j1) | RunChildDone(r1/0 done) | RunCreated(r2 group of 2 as r1/1) | "
            "JobCreated(j2 available) | JobCreated(j3 available)");
  world.pass();
  EXPECT_EQ(world.pass(),
            "JobCompleted(j3) | RunChildDone(r2/1 done) | RunFinished(r2 completed) | "
            "RunChildDone(r1/1 done) | JobCreated(j4 available)");
}

TEST(Nested, AChainWaitsForTheCallbacksOfItsBatch) {
  RunWorld world;
  world.start(chain({batch({step()}, {kSuccess}), step()}));
  EXPECT_EQ(world.pass(),
            "JobCompleted(j1) | RunChildDone(r2/0 done) | RunCallbackFired(r2 on_success j2) | "
            "JobCreated(j2 available)");
  EXPECT_EQ(world.pass(),
            "JobCompleted(j2) | RunChildDone(r2/on_success done) | RunFinished(r2 completed) | "
            "RunChildDone(r1/0 done) | JobCreated(j3 available)");
}

TEST(Nested, EachCanStandInEachOther) {
  for (int outer = 0; outer < 3; ++outer)
    for (int inner = 0; inner < 3; ++inner)
      for (bool good : {true, false}) {
        auto make = [](int kind, const std::vector<PlanNode>& children) {
          return kind == 0 ? chain(children) : kind == 1 ? group(children) : batch(children);
        };
        RunWorld world;
        world.start(make(outer, {make(inner, {step(), step()}), step()}));
        if (!good) world.fail();
        world.pass_all();
        // A batch that failed jobs but called back is complete; chains and groups are not.
        const char* inner_end = good || inner == 2 ? "completed" : "failed";
        const char* outer_end = good || inner == 2 || outer == 2 ? "completed" : "failed";
        EXPECT_EQ(state_name(world.run("r2").state), inner_end) << outer << inner << good;
        EXPECT_EQ(state_name(world.run("r1").state), outer_end) << outer << inner << good;
        EXPECT_EQ(world.run("r1").job_count, 3u);
      }
}

TEST(Nested, AFailureTravelsUpSixteenLevelsInOneFrame) {
  for (bool good : {true, false}) {
    RunWorld world;
    PlanNode plan = step();
    for (int level = 0; level < 16; ++level) plan = level % 2 == 0 ? chain({plan}) : group({plan});
    world.start(plan);
    EXPECT_EQ(
        world.fetch(),
        "JobLeased(j1 w1 #1) | RunStarted(r16) | RunStarted(r15) | RunStarted(r14) | "
        "RunStarted(r13) | RunStarted(r12) | RunStarted(r11) | RunStarted(r10) | "
        "RunStarted(r9) | RunStarted(r8) | RunStarted(r7) | RunStarted(r6) | RunStarted(r5) | "
        "RunStarted(r4) | RunStarted(r3) | RunStarted(r2) | RunStarted(r1)");
    good ? world.ack("j1") : world.nack("j1");
    EXPECT_EQ(world.how("r1"), good ? "completed 1+0-0/1" : "failed 0+1-0/1");
  }
}

TEST(Nested, AnIdThatIsTakenFailsTheStepAndLeavesItsOwnerAlone) {
  RunWorld world;
  PlanNode inner = group({step()});
  inner.id = RunId(Uuid::v7(kWorldStartMs, 5, 6, 0));
  world.start(inner);
  EXPECT_EQ(
      world.start(chain({inner, step()})),
      "RunCreated(r2 chain of 2) | RunChildDone(r2/0 failed: a workflow with the id r1 exists "
      "already) | RunFinished(r2 failed: step 0 failed)");
  EXPECT_EQ(world.start(inner), "rejected duplicate: a workflow with the id r1 exists already");
  EXPECT_EQ(world.pass(), "JobCompleted(j1) | RunChildDone(r1/0 done) | RunFinished(r1 completed)");
}

TEST(Nested, IdsThatClientsChoseAreKept) {
  RunWorld world;
  JobId id(Uuid::v7(kWorldStartMs, 9, 9, 0));
  world.names.give(id, "mine");
  EXPECT_EQ(world.start(chain({step({.id = id}), step({.id = id})})),
            "RunCreated(r1 chain of 2) | JobCreated(mine available)");
  world.restart_from_rows();
  EXPECT_EQ(
      world.pass("7"),
      "JobCompleted(mine 7) | RunChildDone(r1/0 done) | RunChildDone(r1/1 failed: a job with the "
      "id mine exists already) | RunFinished(r1 failed: step 1 failed)");
}

// --- dag, map, when

TEST(Dag, ADiamondJoinsOnce) {
  RunWorld world;
  EXPECT_EQ(world.start(dag({named("a"), named("b", {0}), named("c", {0}), named("d", {1, 2})})),
            "RunCreated(r1 dag of 4) | JobCreated(j1 available)");
  EXPECT_EQ(world.pass(),
            "JobCompleted(j1) | RunChildDone(r1/0 done) | JobCreated(j2 available) | JobCreated(j3 "
            "available)");
  world.restart_from_rows();
  EXPECT_EQ(world.pass(), "JobCompleted(j2) | RunChildDone(r1/1 done)");
  EXPECT_EQ(world.pass(), "JobCompleted(j3) | RunChildDone(r1/2 done) | JobCreated(j4 available)");
  EXPECT_EQ(world.pass(), "JobCompleted(j4) | RunChildDone(r1/3 done) | RunFinished(r1 completed)");
}

TEST(Dag, WhatDependsOnAFailureIsCancelledTheRestGoesOn) {
  RunWorld world;
  world.start(dag({named("a"), named("b", {0}), named("c", {1}), named("d")}));
  EXPECT_EQ(
      world.fail(),
      "JobFailed(j1 #1 discarded E) | RunChildDone(r1/0 failed) | RunChildDone(r1/1 cancelled: "
      "a step it depends on did not complete) | RunChildDone(r1/2 cancelled: a step it depends "
      "on did not complete)");
  EXPECT_EQ(world.pass(),
            "JobCompleted(j2) | RunChildDone(r1/3 done) | RunFinished(r1 failed: 3 of 4 failed)");
  EXPECT_EQ(world.retry("r1"), "RunRetried(r1 0) | JobRevived(j1)");
  EXPECT_EQ(world.pass(), "JobCompleted(j1) | RunChildDone(r1/0 done) | JobCreated(j3 available)");
  world.pass_all();
  EXPECT_EQ(world.how("r1"), "completed 4+0-0/4");
}

TEST(Dag, AFailureReachesAHundredThousandStepsWithoutDepth) {
  RunWorld world;
  std::vector<PlanNode> steps = {named("")};
  for (uint32_t i = 1; i < 100'000; ++i) steps.push_back(named("", {i - 1}));
  world.start(dag(steps));
  world.fail();
  EXPECT_EQ(world.how("r1"), "failed 0+1-99999/100000");
}

TEST(Map, OneJobPerItemAndNoMoreThanItsConcurrencyAtOnce) {
  RunWorld world;
  EXPECT_EQ(world.start(map_over("[10,20,30]", 2)),
            "RunCreated(r1 map of 3) | JobCreated(j1 available) | JobCreated(j2 available)");
  EXPECT_EQ(world.job("j2").spec_view().args, "[20]");
  EXPECT_EQ(world.pass(), "JobCompleted(j1) | RunChildDone(r1/0 done) | JobCreated(j3 available)");
  world.pass();
  EXPECT_EQ(world.pass(), "JobCompleted(j3) | RunChildDone(r1/2 done) | RunFinished(r1 completed)");
}

TEST(Map, AnExpressionSeesTheStepsBeforeIt) {
  RunWorld world;
  world.start(chain({step(), map_over("results[0].items"), step()}));
  EXPECT_EQ(
      world.pass(R"({"items":["x","y"]})"),
      "JobCompleted(j1 {\"items\":[\"x\",\"y\"]}) | RunChildDone(r1/0 done) | RunCreated(r2 map "
      "of 2 as r1/1) | JobCreated(j2 available) | JobCreated(j3 available)");
  world.pass("1");
  world.pass("2");
  EXPECT_EQ(world.parents("j4"), R"([{"items":["x","y"]},{"0":1,"1":2}])");
}

TEST(Map, AnEmptyListIsDoneAtOnce) {
  RunWorld world;
  EXPECT_EQ(world.start(map_over("[]")), "RunCreated(r1 map of 0) | RunFinished(r1 completed)");
  EXPECT_EQ(
      world.start(chain({map_over("[]"), step()})),
      "RunCreated(r2 chain of 2) | RunCreated(r3 map of 0 as r2/0) | RunFinished(r3 completed) "
      "| RunChildDone(r2/0 done) | JobCreated(j1 available)");
}

TEST(Map, AListThatCannotBeHadIsRefusedOrFailsItsStep) {
  RunWorld world;
  EXPECT_EQ(world.start(map_over("1 + 1")), "rejected validation_error: over must give a list");
  world.start(chain({step(), map_over("results[0].items")}));
  std::string story = world.pass("{}");
  EXPECT_NE(story.find("RunChildDone(r1/1 failed: "), std::string::npos) << story;
  EXPECT_EQ(world.how("r1"), "failed 1+1-0/2");
}

TEST(Map, AnItemThatCannotStartMakesRoomForTheNext) {
  RunWorld world;
  PlanNode plan = map_over("[1,2,3]", 1);
  plan.children[0] =
      codec::encoded(step({.unique = {.key = std::string(16, 'k'), .states = 0x5e}}));
  world.push(new_job({.unique = {.key = std::string(16, 'k'), .states = 0x5e}}));
  world.start(plan);
  EXPECT_EQ(world.how("r1"), "failed 0+3-0/3");
}

// Each item replaces the previous one. The map handles that end after the replacement exists, or it
// would start the same child twice.
TEST(Map, AnItemThatReplacesAnotherMakesRoomOnce) {
  RunWorld world;
  PlanNode plan = map_over("[1,2,3]", 2);
  plan.children[0] = codec::encoded(
      step({.unique = {
                .key = std::string(16, 'k'), .states = 0x5e, .on_conflict = OnConflict::Replace}}));
  EXPECT_EQ(world.start(plan),
            "RunCreated(r1 map of 3) | JobCreated(j1 available) | JobCancelled(j1 replaced by a "
            "newer unique job) | JobCreated(j2 available) | RunChildDone(r1/0 failed) | "
            "JobCancelled(j2 replaced by a newer unique job) | JobCreated(j3 available) | "
            "RunChildDone(r1/1 failed)");
  EXPECT_EQ(world.pass(),
            "JobCompleted(j3) | RunChildDone(r1/2 done) | RunFinished(r1 failed: 2 of 3 failed)");
}

TEST(When, AFalseConditionSkipsAndABrokenOneFails) {
  RunWorld world;
  world.start(chain({step(), when("results[0].go"), when("!results[0].go"), when("results[9].x")}));
  EXPECT_EQ(
      world.pass(R"({"go":false})"),
      "JobCompleted(j1 {\"go\":false}) | RunChildDone(r1/0 done) | RunChildDone(r1/1 skipped: its "
      "condition is false: results[0].go) | JobCreated(j2 available)");
  std::string story = world.pass();
  EXPECT_NE(story.find("RunChildDone(r1/3 failed: its condition cannot be evaluated: "),
            std::string::npos)
      << story;
  EXPECT_EQ(world.how("r1"), "failed 3+1-0/4");
}

TEST(When, ThousandsOfSkippedStepsAreNoDepth) {
  StateConfig config;
  config.scripts.frame_allowance = UINT64_MAX;  // all of them in one frame
  RunWorld world(config);
  std::vector<PlanNode> steps(50'000, when("1 > 2"));
  steps.push_back(step());
  world.start(chain(steps));
  EXPECT_EQ(world.how("r1"), "running 50000+0-0/50001");
  EXPECT_EQ(world.pass_all(), 1u);
  EXPECT_EQ(world.how("r1"), "completed 50001+0-0/50001");
}

TEST(When, AllSkippedIsCompleted) {
  RunWorld world;
  world.start(group({when("false"), when("false")}));
  EXPECT_EQ(world.how("r1"), "completed 2+0-0/2");
}

}  // namespace
}  // namespace pawl
