#include "kernel/jobs/fetch_jobs.h"

#include <gtest/gtest.h>

#include "kernel/cold.h"
#include "kernel/jobs/queue.h"
#include "kernel/mutable_state.h"
#include "kernel/state.h"
#include "kernel/state_config.h"
#include "kernel/testing/world.h"

namespace pawl {
namespace {

TEST(FetchJobs, OldestFirstInsideOnePriorityHigherPriorityBefore) {
  World world;
  for (int priority : {0, 5, 0, -5, 5}) world.push(new_job({.priority = priority}));
  EXPECT_EQ(world.fetch(9),
            "JobLeased(j2 w1 #1) | JobLeased(j5 w1 #1) | JobLeased(j1 w1 #1) | "
            "JobLeased(j3 w1 #1) | JobLeased(j4 w1 #1)");
}

// A thousand jobs of megabytes would be one reply.
TEST(FetchJobs, LargeJobsAreGivenFewAtATime) {
  World world;
  for (int i = 0; i < 4; ++i) world.push(new_job({.type = std::string(9u << 20, 't')}));
  EXPECT_EQ(world.fetch(9), "JobLeased(j1 w1 #1) | JobLeased(j2 w1 #1)");
  EXPECT_EQ(world.fetch(9), "JobLeased(j3 w1 #1) | JobLeased(j4 w1 #1)");
}

TEST(FetchJobs, QueuesStrictlyFromLeftToRight) {
  World world;
  world.push(new_job({.queue = "b", .priority = 100}));
  world.push(new_job({.queue = "a"}));
  world.push(new_job({.queue = "a"}));
  EXPECT_EQ(world.fetch({.queues = {"none", "a", "b"}, .count = 2}),
            "JobLeased(j2 w1 #1) | JobLeased(j3 w1 #1)");
  EXPECT_EQ(world.fetch({.queues = {"a", "b", "b"}, .count = 2}), "JobLeased(j1 w1 #1)");
}

TEST(FetchJobs, AnEmptyQueueGivesNothingAndAJobIsGivenOnce) {
  World world;
  EXPECT_EQ(world.fetch(), "nothing");
  world.push();
  EXPECT_EQ(world.fetch(0), "nothing");
  EXPECT_EQ(world.fetch(), "JobLeased(j1 w1 #1)");
  EXPECT_EQ(world.fetch(), "nothing");
}

TEST(FetchJobs, TheAttemptCountsAtFetchAndStaysOverAFailure) {
  World world;
  world.push();
  EXPECT_EQ(world.job("j1").attempt, 0u);
  world.fetch();
  EXPECT_EQ(world.job("j1").attempt, 1u);
  EXPECT_EQ(world.nack("j1"), "JobFailed(j1 #1 retryable +1000 E)");
  EXPECT_EQ(world.job("j1").attempt, 1u);
  world.advance(1000);
  EXPECT_EQ(world.fetch(), "JobLeased(j1 w1 #2)");
}

TEST(FetchJobs, TheLeaseIsTheRequestsElseTheJobsElseTheDefault) {
  World world;
  TestSpec own;
  own.visibility_ms = 7000;
  world.push({new_job({}, own), new_job({}, own), new_job()});
  world.fetch({.queues = {}, .visibility_ms = 500});
  world.fetch(2);
  EXPECT_EQ(world.job("j1").lease_until_ms, world.now_ms + 500);
  EXPECT_EQ(world.job("j2").lease_until_ms, world.now_ms + 7000);
  EXPECT_EQ(world.job("j3").lease_until_ms, world.now_ms + kTestLeaseMs);
  EXPECT_EQ(world.job("j3").worker, "w1");
}

TEST(FetchJobs, APausedQueueKeepsItsJobs) {
  World world;
  world.push();
  EXPECT_EQ(world.configure("q", [](QueueSettings& s) { s.paused = true; }),
            "QueueConfigured(q paused)");
  EXPECT_EQ(world.fetch(), "nothing");
  EXPECT_EQ(world.push(), "JobCreated(j2 available)");
  EXPECT_EQ(world.configure("q", [](QueueSettings& s) { s.paused = true; }), "nothing");
  EXPECT_EQ(world.configure("q", [](QueueSettings& s) { s.paused = false; }), "QueueConfigured(q)");
  EXPECT_EQ(world.fetch(), "JobLeased(j1 w1 #1)");
}

TEST(FetchJobs, AQueuesRateSaysWhenToComeAgain) {
  World world;
  EXPECT_EQ(world.push({new_job({.queue_rate = 2}), new_job(), new_job()}),
            "QueueConfigured(q rate=2) | JobCreated(j1 available) | JobCreated(j2 available) | "
            "JobCreated(j3 available)");
  world.now_ms += 100;
  EXPECT_EQ(world.fetch(), "JobLeased(j1 w1 #1)");
  world.now_ms += 400;
  EXPECT_EQ(world.fetch(2), "JobLeased(j2 w1 #1) | again +600");
  world.now_ms += 599;
  EXPECT_EQ(world.fetch(), "again +1");
  world.now_ms += 1;
  EXPECT_EQ(world.fetch(), "JobLeased(j3 w1 #1)");
  EXPECT_EQ(world.fetch(), "nothing");
}

TEST(FetchJobs, AConcurrencyKeyIsSharedByQueuesAndOthersPassBy) {
  World world;
  LimitSettings one{.concurrency = 1};
  world.push(new_job({.queue = "a", .limit = "k", .limit_settings = one}));
  world.push(new_job({.queue = "b", .limit = "k", .limit_settings = one}));
  world.push(new_job({.queue = "b"}));
  EXPECT_EQ(world.fetch({.queues = {"a", "b"}, .count = 9}),
            "JobLeased(j1 w1 #1) | JobLeased(j3 w1 #1)");
  EXPECT_EQ(world.fetch({.queues = {"b"}}), "nothing");
  world.ack("j1");
  EXPECT_EQ(world.fetch({.queues = {"b"}}), "JobLeased(j2 w1 #1)");
  EXPECT_EQ(world.state().find_limit("k")->active, 1u);
}

// Every end of a lease frees its place.
TEST(FetchJobs, AConcurrencyKeyIsFreedByEveryEnd) {
  World world;
  NewJob job = new_job({.limit = "k", .limit_settings = {.concurrency = 1}});
  for (auto end : {+[](World&w, const std::string&j) { return w.ack(j); },
                   +[](World&w, const std::string&j) { return w.nack(j); },
                   +[](World&w, const std::string&j) { return w.cancel(j); },
                   +[](World&w, const std::string&j) { return w.give_back(j); },
                   +[](World&w, const std::string&) { return w.advance(kTestLeaseMs); }}) {
    world.push(job);
    world.fetch();
    EXPECT_EQ(world.state().find_limit("k")->active, 1u);
    std::string active;
    world.state().each_job(JobId(), false, SIZE_MAX, [&](const Job& each) {
      if (each.state == JobState::Active) active = world.names.of(each.id);
      return true;
    });
    end(world, active);
    EXPECT_EQ(world.state().find_limit("k")->active, 0u);
  }
}

TEST(FetchJobs, AKeysRateHoldsBackForItsPeriod) {
  World world;
  NewJob job = new_job({.limit = "k", .limit_settings = {.rate = 1, .period_ms = 5000}});
  EXPECT_EQ(world.push({job, job}),
            "LimitConfigured(k rate=1/5000ms) | JobCreated(j1 available) | "
            "JobCreated(j2 available)");
  EXPECT_EQ(world.fetch(2), "JobLeased(j1 w1 #1) | again +5000");
  world.ack("j1");
  world.now_ms += 4000;
  EXPECT_EQ(world.fetch(), "again +1000");
  world.now_ms += 1000;
  EXPECT_EQ(world.fetch(), "JobLeased(j2 w1 #1)");
}

// Parked fetches of all queues held back by a key are woken when the key has room again.
TEST(FetchJobs, AFreedKeyWakesTheQueuesItHeldBack) {
  World world;
  LimitSettings one{.concurrency = 1};
  world.push(new_job({.queue = "a", .limit = "k", .limit_settings = one}));
  world.push(new_job({.queue = "b", .limit = "k", .limit_settings = one}));
  world.fetch({.queues = {"a"}});
  EXPECT_EQ(world.fetch({.queues = {"b"}}), "nothing");
  world.take_ready();
  world.ack("j1");
  EXPECT_EQ(world.take_ready(), "b");
  EXPECT_EQ(world.fetch({.queues = {"b"}}), "JobLeased(j2 w1 #1)");
  world.ack("j2");
  EXPECT_EQ(world.take_ready(), "");
}

TEST(FetchJobs, WhatCannotBeReadIsNotTakenForNothing) {
  StateConfig config;
  config.resident_jobs_max = 0;
  World world(config);
  world.push();
  world.push(new_job({.scheduled_ms = world.now_ms + 10}));
  world.collect(100);
  world.commit_rows();
  world.evict();
  world.cold.broken = true;
  EXPECT_EQ(reading([&] { world.fetch(); }).error().code, ErrorCode::StoreFailed);
  EXPECT_EQ(reading([&] { world.advance(20); }).error().code, ErrorCode::StoreFailed);
}

}  // namespace
}  // namespace pawl
