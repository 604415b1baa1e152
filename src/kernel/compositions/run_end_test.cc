// Cancelling, timeouts, retries and deletion of runs.
#include <gtest/gtest.h>

#include "kernel/cold.h"
#include "kernel/jobs/forget_jobs.h"
#include "kernel/mutable_state.h"
#include "kernel/testing/run_world.h"
#include "plan/ojs/plan_node.h"

namespace pawl {
namespace {

// --- cancel

TEST(CancelRun, WhatWaitsIsCancelledWhatIsAtWorkMayFinish) {
  RunWorld world;
  world.start(group({step(), step(), step({.scheduled_ms = world.now_ms + 9})}));
  world.take();
  EXPECT_EQ(world.stop("r1"),
            "RunFinished(r1 cancelled: asked) | JobCancelled(j2 its workflow was cancelled) | "
            "RunChildDone(r1/1 cancelled) | JobCancelled(j3 its workflow was cancelled) | "
            "RunChildDone(r1/2 cancelled)");
  EXPECT_EQ(world.ack("j1", "", 0, "5"), "JobCompleted(j1 5) | RunChildDone(r1/0 done)");
  EXPECT_EQ(world.how("r1"), "cancelled 1+0-2/3");
  EXPECT_EQ(world.stop("r1"),
            "rejected conflict: Workflow r1 is already in terminal state 'cancelled'");
  EXPECT_EQ(world.stop("r9").substr(0, 18), "rejected not_found");
}

TEST(CancelRun, AnAttemptThatFailsAfterwardsIsTheLast) {
  for (int how = 0; how < 3; ++how) {
    RunWorld world;
    world.start(chain({step({}, TestSpec{}), step()}));
    world.take();
    world.stop("r1");
    std::string story = how == 0   ? world.nack("j1")
                        : how == 1 ? world.advance(kTestLeaseMs)
                                   : world.give_back("j1");
    const char* expected[] = {
        "JobFailed(j1 #1 discarded E) | RunChildDone(r1/0 failed)",
        "JobFailed(j1 #1 discarded lease_expired) | RunChildDone(r1/0 failed)",
        "JobCancelled(j1 its workflow has ended) | RunChildDone(r1/0 cancelled)"};
    EXPECT_EQ(story, expected[how]);
    world.advance(3'600'000);
    EXPECT_EQ(world.pass(), "nobody waits");
  }
}

TEST(CancelRun, OnlyOnCancelIsCalledBack) {
  RunWorld world;
  TestSpec twice;
  twice.retry.max_attempts = 2;
  world.start(call_back(batch({step(), step()}), {kCancel}, twice));
  world.take();
  EXPECT_EQ(world.stop("r1"),
            "RunFinished(r1 cancelled: asked) | JobCancelled(j2 its workflow was cancelled) | "
            "RunChildDone(r1/1 cancelled) | RunCallbackFired(r1 on_cancel j3) | JobCreated(j3 "
            "available)");
  EXPECT_EQ(world.ack("j1"), "JobCompleted(j1) | RunChildDone(r1/0 done)");
  EXPECT_EQ(world.fail(), "JobFailed(j3 #1 retryable +1000 E)");
  world.advance(1000);
  EXPECT_EQ(world.pass(), "JobCompleted(j3) | RunChildDone(r1/on_cancel done)");
  EXPECT_EQ(world.how("r1"), "cancelled 1+0-1/2");
}

TEST(CancelRun, ACallbackThatWaitsIsCancelledOneAtWorkIsNotTriedAgain) {
  RunWorld world;
  world.start(call_back(compose(RunKind::Batch, {step()}), {kComplete, kSuccess}, TestSpec{}));
  world.pass();
  std::string at_work = world.take();
  EXPECT_EQ(world.stop("r1"),
            "RunFinished(r1 cancelled: asked) | JobCancelled(j3 its workflow was cancelled) | "
            "RunChildDone(r1/on_success cancelled)");
  EXPECT_EQ(world.nack(at_work),
            "JobFailed(j2 #1 discarded E) | RunChildDone(r1/on_complete failed)");
}

TEST(CancelRun, ReachesTheRunsInside) {
  RunWorld world;
  world.start(chain({call_back(group({chain({step(), step()}), step()}), {kCancel}), step()}));
  EXPECT_EQ(
      world.stop("r1"),
      "RunFinished(r1 cancelled: asked) | RunFinished(r2 cancelled: its workflow was cancelled) "
      "| RunFinished(r3 cancelled: its workflow was cancelled) | JobCancelled(j1 its workflow "
      "was cancelled) | RunChildDone(r3/0 cancelled) | JobCancelled(j2 its workflow was "
      "cancelled) | RunChildDone(r2/1 cancelled) | RunCallbackFired(r2 on_cancel j3) | "
      "JobCreated(j3 available) | RunChildDone(r1/0 cancelled) | RunChildDone(r2/0 cancelled)");
}

TEST(CancelRun, OfARunInsideFailsTheStepItIs) {
  RunWorld world;
  world.start(chain({group({step()}), step()}));
  EXPECT_EQ(
      world.stop("r2"),
      "RunFinished(r2 cancelled: asked) | JobCancelled(j1 its workflow was cancelled) | "
      "RunChildDone(r2/0 cancelled) | RunChildDone(r1/0 failed) | RunFinished(r1 failed: step 0 "
      "failed)");
}

// --- timeout

TEST(RunTimeout, FailsOrCancelsAsAsked) {
  for (bool cancels : {false, true}) {
    RunWorld world;
    PlanNode plan = call_back(group({step(), step()}), {kCancel});
    plan.timeout_ms = 500;
    plan.on_timeout = cancels ? RunTimeout::Cancel : RunTimeout::Fail;
    world.start(plan);
    world.take();
    world.restart_from_rows();
    EXPECT_EQ(world.advance(499), "nothing");
    std::string story = world.advance(1);
    std::string common =
        " it ran longer than its timeout_ms) | JobCancelled(j2 its workflow timed out) | "
        "RunChildDone(r1/1 cancelled)";
    EXPECT_EQ(story, cancels ? "RunFinished(r1 cancelled:" + common +
                                   " | RunCallbackFired(r1 on_cancel j3) | JobCreated(j3 available)"
                             : "RunFinished(r1 failed:" + common);
    EXPECT_EQ(world.advance(1000), "nothing");
  }
}

TEST(RunTimeout, OfARunInsideFailsItsStep) {
  RunWorld world;
  PlanNode inner = group({step()});
  inner.timeout_ms = 5;
  world.start(chain({inner, step()}));
  world.advance(5);
  EXPECT_EQ(world.how("r1"), "failed 0+1-0/2");
}

TEST(RunTimeout, ARunThatEndsInTimeHasNone) {
  RunWorld world;
  PlanNode plan = chain({step()});
  plan.timeout_ms = 5;
  world.start(plan);
  world.pass();
  EXPECT_EQ(world.advance(100), "nothing");
}

// --- retry

TEST(RetryRun, AChainGoesOnFromTheStepThatFailed) {
  RunWorld world;
  world.start(chain({step(), step(), step()}));
  world.pass("1");
  world.fail();
  world.restart_from_rows();
  EXPECT_EQ(world.retry("r1"), "RunRetried(r1 1) | JobRevived(j2)");
  EXPECT_EQ(world.retry("r1"), "nothing");
  EXPECT_EQ(world.pass("2"),
            "JobCompleted(j2 2) | RunChildDone(r1/1 done) | JobCreated(j3 available)");
  EXPECT_EQ(world.parents("j3"), "[1,2]");
  world.pass();
  EXPECT_EQ(world.how("r1"), "completed 3+0-0/3");
  EXPECT_EQ(world.retry("r1"),
            "rejected conflict: Workflow r1 is completed; only a failed one can be retried");
}

TEST(RetryRun, OfAGroupOnlyWhatFailed) {
  RunWorld world;
  world.start(group({step(), step(), step()}));
  world.fail();
  world.pass();
  world.cancel("j3");
  EXPECT_EQ(world.how("r1"), "failed 1+2-0/3");
  EXPECT_EQ(world.retry("r1"), "RunRetried(r1 0 2) | JobRevived(j1) | JobRevived(j3)");
  world.fail();
  world.pass();
  EXPECT_EQ(world.how("r1"), "failed 2+1-0/3");
  EXPECT_EQ(world.retry("r1"), "RunRetried(r1 0) | JobRevived(j1)");
  world.pass();
  EXPECT_EQ(world.how("r1"), "completed 3+0-0/3");
}

TEST(RetryRun, ACallbackThatFailedIsFiredAgainAloneAndUnderANewId) {
  RunWorld world;
  world.start(batch({step()}));
  world.pass();
  world.pass();
  world.fail();
  EXPECT_EQ(world.how("r1"), "failed 1+0-0/1");
  EXPECT_EQ(world.retry("r1"),
            "RunRetried(r1) | RunCallbackFired(r1 on_success j4) | JobCreated(j4 available)");
  EXPECT_EQ(world.pass(),
            "JobCompleted(j4) | RunChildDone(r1/on_success done) | RunFinished(r1 completed)");
}

TEST(RetryRun, ABatchCallsBackOnceForItsNewOutcome) {
  RunWorld world;
  world.start(batch({step(), step()}));
  world.fail();
  world.pass();
  world.fail();
  world.pass();
  EXPECT_EQ(world.how("r1"), "failed 1+1-0/2");
  EXPECT_EQ(world.retry("r1"), "RunRetried(r1 0) | JobRevived(j1)");
  EXPECT_EQ(
      world.pass(),
      "JobCompleted(j1) | RunChildDone(r1/0 done) | RunCallbackFired(r1 on_complete j5) | "
      "RunCallbackFired(r1 on_success j6) | JobCreated(j5 available) | JobCreated(j6 available)");
  world.pass_all();
  EXPECT_EQ(world.how("r1"), "completed 2+0-0/2");
}

TEST(RetryRun, ReachesTheRunsInside) {
  RunWorld world;
  world.start(chain({step(), group({step(), chain({step(), step()})}), step()}));
  world.pass();
  world.pass();
  world.fail();
  EXPECT_EQ(world.how("r1"), "failed 1+1-0/3");
  EXPECT_EQ(world.retry("r2").substr(0, 17), "rejected conflict");
  EXPECT_EQ(world.retry("r1"),
            "RunRetried(r1 1) | RunRetried(r2 1) | RunRetried(r3 0) | JobRevived(j3)");
  EXPECT_EQ(world.pass_all(), 3u);
  EXPECT_EQ(world.how("r1"), "completed 3+0-0/3");
  EXPECT_EQ(world.how("r2"), "completed 2+0-0/2");
}

// After a timeout a running job may still complete; a retry continues after it.
TEST(RetryRun, GoesOnBehindWhatCompletedAfterATimeout) {
  for (RunKind kind : {RunKind::Chain, RunKind::Dag, RunKind::Group, RunKind::Map}) {
    RunWorld world;
    PlanNode plan = kind == RunKind::Map     ? map_over("[1,2]", 1)
                    : kind == RunKind::Dag   ? dag({named("a"), named("b", {0})})
                    : kind == RunKind::Chain ? chain({step(), step()})
                                             : group({step()});
    plan.timeout_ms = 5;
    world.start(plan);
    world.take();
    world.advance(5);
    EXPECT_EQ(world.ack("j1"), "JobCompleted(j1) | RunChildDone(r1/0 done)");
    world.retry("r1");
    world.pass_all();
    EXPECT_EQ(state_name(world.run("r1").state), "completed") << kind_name(kind);
  }
}

TEST(RetryRun, WhatIsStillAtWorkIsNotStartedAgain) {
  RunWorld world;
  PlanNode plan = group({step(), step()});
  plan.timeout_ms = 5;
  world.start(plan);
  world.take();
  world.advance(5);
  EXPECT_EQ(world.retry("r1"), "RunRetried(r1 1) | JobRevived(j2)");
  EXPECT_EQ(world.ack("j1"), "JobCompleted(j1) | RunChildDone(r1/0 done)");
  EXPECT_EQ(world.pass(), "JobCompleted(j2) | RunChildDone(r1/1 done) | RunFinished(r1 completed)");
}

TEST(RetryRun, AConditionThatFailedIsAskedAgain) {
  RunWorld world;
  world.start(group({when("results[0].x"), step()}));
  world.pass();
  EXPECT_EQ(world.how("r1"), "failed 1+1-0/2");
  std::string story = world.retry("r1");
  EXPECT_EQ(story.substr(0, 15), "RunRetried(r1 0") << story;
  EXPECT_EQ(world.how("r1"), "failed 1+1-0/2");
}

TEST(RetryRun, AMemberThatWasDeletedFailsAgain) {
  RunWorld world;
  TestSpec dead = once();
  dead.retry.on_exhaustion = OnExhaustion::DeadLetter;
  world.start(group({step({}, dead), step()}));
  world.fail();
  world.pass();
  world.drop_dead("j1");
  EXPECT_EQ(world.retry("r1"),
            "RunRetried(r1 0) | RunChildDone(r1/0 failed: its job was deleted) | RunFinished(r1 "
            "failed: 1 of 2 failed)");
}

// --- retry of a map

TEST(RetryRun, AMapKeepsToItsConcurrency) {
  RunWorld world;
  world.start(map_over("[1,2,3,4]", 2));
  for (int i = 0; i < 4; ++i) world.fail();
  EXPECT_EQ(world.how("r1"), "failed 0+4-0/4");
  world.restart_from_rows();
  EXPECT_EQ(world.retry("r1"), "RunRetried(r1 0 1) | JobRevived(j1) | JobRevived(j2)");
  world.restart_from_rows();
  EXPECT_EQ(world.pass(),
            "JobCompleted(j1) | RunChildDone(r1/0 done) | RunChildDone(r1/2 started) | "
            "JobRevived(j3)");
  EXPECT_EQ(world.fail(),
            "JobFailed(j2 #1 discarded E) | RunChildDone(r1/1 failed) | RunChildDone(r1/3 started) "
            "| JobRevived(j4)");
  world.restart();
  world.pass();
  EXPECT_EQ(world.pass(),
            "JobCompleted(j4) | RunChildDone(r1/3 done) | RunFinished(r1 failed: 1 of 4 failed)");
  EXPECT_EQ(world.retry("r1"), "RunRetried(r1 1) | JobRevived(j2)");
  world.pass();
  EXPECT_EQ(world.how("r1"), "completed 4+0-0/4");
}

// Unfinished children keep their places; a restarted child may find its job deleted, or done by
// hand.
TEST(RetryRun, AMapTakesUpWhatItFinds) {
  RunWorld world;
  TestSpec dead = once();
  dead.retry.on_exhaustion = OnExhaustion::DeadLetter;
  PlanNode plan = map_over("[1,2,3,4]", 1);
  plan.children[0] = codec::encoded(step({}, dead));
  world.start(plan);
  for (int i = 0; i < 4; ++i) world.fail();
  world.drop_dead("j3");
  world.revive("j4");
  world.pass();
  EXPECT_EQ(world.retry("r1"), "RunRetried(r1 0) | JobRevived(j1)");
  EXPECT_EQ(world.pass(),
            "JobCompleted(j1) | RunChildDone(r1/0 done) | RunChildDone(r1/1 started) | "
            "JobRevived(j2)");
  EXPECT_EQ(world.pass(), "JobCompleted(j2) | RunChildDone(r1/1 done) | JobCreated(j3 available)");
  EXPECT_EQ(world.pass(),
            "JobCompleted(j3) | RunChildDone(r1/2 done) | RunChildDone(r1/3 started) | "
            "RunChildDone(r1/3 done) | RunFinished(r1 completed)");
}

TEST(RetryRun, OfAMapCountsWhatIsStillAtWork) {
  RunWorld world;
  PlanNode plan = map_over("[1,2,3,4]", 2);
  plan.timeout_ms = 5;
  world.start(plan);
  world.fail();
  world.take();
  EXPECT_EQ(world.advance(5),
            "RunFinished(r1 failed: it ran longer than its timeout_ms) | JobCancelled(j3 its "
            "workflow timed out) | RunChildDone(r1/2 cancelled)");
  EXPECT_EQ(world.retry("r1"), "RunRetried(r1 0) | JobRevived(j1)");
  EXPECT_EQ(world.ack("j2"),
            "JobCompleted(j2) | RunChildDone(r1/1 done) | RunChildDone(r1/2 started) | "
            "JobRevived(j3)");
  EXPECT_EQ(world.pass_all(), 3u);
  EXPECT_EQ(world.how("r1"), "completed 4+0-0/4");
}

// --- retry after what operators did by hand

TEST(RetryRun, TakesTheCompletedWorkOfARevivedMemberAsItIs) {
  RunWorld world;
  world.start(group({step(), step()}));
  world.fail();
  world.fail();
  world.revive("j1");
  EXPECT_EQ(world.pass("7"), "JobCompleted(j1 7)");
  EXPECT_EQ(world.how("r1"), "failed 0+2-0/2");
  EXPECT_EQ(world.retry("r1"), "RunRetried(r1 0 1) | JobRevived(j2) | RunChildDone(r1/0 done)");
  world.pass();
  EXPECT_EQ(world.how("r1"), "completed 2+0-0/2");
}

TEST(RetryRun, LeavesAnothersJobAloneThatHasTheIdOfADeletedMember) {
  RunWorld world;
  JobId id(Uuid::v7(kWorldStartMs, 9, 9, 0));
  world.names.give(id, "mine");
  TestSpec dead = once();
  dead.retry.on_exhaustion = OnExhaustion::DeadLetter;
  world.start(group({step({.id = id}, dead), step()}));
  world.fail();
  world.pass();
  world.drop_dead("mine");
  world.push(new_job({.id = id}));
  EXPECT_EQ(world.retry("r1"),
            "RunRetried(r1 0) | RunChildDone(r1/0 failed: a job with the id mine exists already) | "
            "RunFinished(r1 failed: 1 of 2 failed)");
  EXPECT_EQ(world.pass(), "JobCompleted(mine)");
}

// --- forgetting

TEST(ForgetRuns, ARunGoesWithThoseInsideAndFreesItsJobs) {
  RunWorld world;
  world.start(chain({group({step()})}));
  EXPECT_EQ(world.forget(), "nothing");
  world.pass();
  EXPECT_EQ(world.forget(), "RunForgotten(r2) | RunForgotten(r1)");
  EXPECT_EQ(world.how("r1"), "gone");
  for (int i = 0; i < 2; ++i) world.collect(SIZE_MAX), world.commit_rows();
  EXPECT_TRUE(world.cold.rows[Space::Run].empty());
  EXPECT_TRUE(world.cold.rows[Space::RunChild].empty());
}

// The row of a deleted run may still be on disk when its id is used again.
TEST(ForgetRuns, ItsIdCanBeTakenAtOnce) {
  for (int flushed = 0; flushed < 3; ++flushed) {
    RunWorld world;
    PlanNode plan = chain({step(), step()});
    plan.id = RunId(Uuid::v7(kWorldStartMs, 5, 6, 0));
    world.start(plan);
    world.pass_all();
    if (flushed > 0) world.collect(SIZE_MAX);
    if (flushed > 1) world.commit_rows();
    world.forget();
    world.frame([&](Frame& f) {
      forget_jobs(
          f, {.from = JobId(), .finished_before_ms = world.now_ms, .at_most = 9, .scan_max = 99});
      return std::string();
    });
    PlanNode other = batch({step(), step()}, {kFailure});
    other.id = plan.id;
    world.start(other);
    EXPECT_EQ(world.how("r1"), "running 0+0-0/2");
    for (int i = 0; i < 3; ++i) world.collect(SIZE_MAX), world.commit_rows();
    world.evict();
    world.restart();
    EXPECT_EQ(world.how("r1"), "running 0+0-0/2");
    world.pass_all();
    EXPECT_EQ(world.how("r1"), "completed 2+0-0/2");
  }
}

// A job that an operator revived outlives its run; a second run with that id ignores it.
TEST(ForgetRuns, WhatARunLeftBehindIsNoneOfTheNextOneOfItsId) {
  for (bool good : {true, false}) {
    RunWorld world;
    TestSpec twice;
    twice.retry.max_attempts = 2;
    PlanNode plan = batch({step({}, twice), group({step()})}, {kComplete});
    plan.id = RunId(Uuid::v7(kWorldStartMs, 5, 6, 0));
    world.start(plan);
    world.fail();
    world.advance(1000);
    world.pass();
    EXPECT_EQ(world.fail(),
              "JobFailed(j1 #2 discarded E) | RunChildDone(r1/0 failed) | RunCallbackFired(r1 "
              "on_complete j3) | JobCreated(j3 available)");
    world.pass();
    world.revive("j1");
    EXPECT_EQ(world.forget(), "RunForgotten(r1) | RunForgotten(r2)");
    world.restart_from_rows();
    EXPECT_EQ(world.start(plan),
              "RunCreated(r1 batch of 2) | JobCreated(j4 available) | RunCreated(r3 group of 1 as "
              "r1/1) | JobCreated(j5 available)");
    world.restart_from_rows();
    EXPECT_EQ(world.fetch(), "JobLeased(j1 w1 #1)");
    EXPECT_EQ(good ? world.ack("j1") : world.nack("j1"),
              good ? "JobCompleted(j1)" : "JobFailed(j1 #1 discarded E)");
    EXPECT_EQ(world.how("r1"), "running 0+0-0/2");
    EXPECT_EQ(world.pass_all(), 3u);
    EXPECT_EQ(world.how("r1"), "completed 2+0-0/2");
  }
}

}  // namespace
}  // namespace pawl
