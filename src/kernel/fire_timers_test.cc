#include "kernel/fire_timers.h"

#include <gtest/gtest.h>

#include "kernel/jobs/queue.h"
#include "kernel/mutable_state.h"
#include "kernel/state.h"
#include "kernel/testing/world.h"

namespace pawl {
namespace {

TEST(Timers, AScheduledJobIsPromotedAtItsTimeAndQueuesBehind) {
  World world;
  world.push(new_job({.scheduled_ms = world.now_ms + 5000}));
  EXPECT_EQ(world.state().next_due_ms(), world.now_ms + 5000);
  EXPECT_EQ(world.advance(4999), "nothing");
  world.push();
  EXPECT_EQ(world.advance(1), "JobPromoted(j1)");
  EXPECT_EQ(world.job("j1").enqueued_ms, world.now_ms);
  EXPECT_EQ(world.fetch(2), "JobLeased(j2 w1 #1) | JobLeased(j1 w1 #1)");
}

TEST(Timers, FireInTheOrderOfTheirTimes) {
  World world;
  for (int delay : {30, 10, 20}) world.push(new_job({.scheduled_ms = world.now_ms + delay}));
  EXPECT_EQ(world.advance(100), "JobPromoted(j2) | JobPromoted(j3) | JobPromoted(j1)");
}

TEST(Timers, ASilentWorkerLosesItsJobWhileAttemptsAreLeft) {
  World world;
  TestSpec twice;
  twice.retry.max_attempts = 2;
  world.push(new_job({}, twice));
  world.fetch();
  EXPECT_EQ(world.advance(kTestLeaseMs - 1), "nothing");
  EXPECT_EQ(world.advance(1), "JobRequeued(j1 lease_expired)");
  EXPECT_EQ(world.job("j1").attempt, 1u);
  EXPECT_EQ(world.job("j1").worker, "");
  EXPECT_EQ(world.fetch(), "JobLeased(j1 w1 #2)");
  EXPECT_EQ(world.advance(kTestLeaseMs), "JobFailed(j1 #2 discarded lease_expired)");
  EXPECT_EQ(world.state_of("j1"), "discarded");
}

TEST(Timers, ALongRunEndsAtItsTimeoutAndIsRetried) {
  World world;
  TestSpec spec;
  spec.timeout_ms = 2000;
  spec.retry.max_attempts = 2;
  world.push(new_job({}, spec));
  world.fetch();
  EXPECT_EQ(world.advance(1999), "nothing");
  EXPECT_EQ(world.extend("j1", "w1", 60'000), "LeaseExtended(j1 +60000)");
  EXPECT_EQ(world.advance(1), "JobFailed(j1 #1 retryable +1000 timeout)");
  world.advance(1000);
  world.fetch();
  EXPECT_EQ(world.advance(2000), "JobFailed(j1 #2 discarded timeout)");
}

// Both are past when the server wakes late: the earlier one counts.
TEST(Timers, TheEarlierOfLeaseAndTimeoutDecides) {
  World world;
  TestSpec spec;
  spec.timeout_ms = 5000;
  world.push({new_job({}, spec), new_job({}, spec)});
  world.fetch({.queues = {}, .visibility_ms = 1000});
  world.fetch({.queues = {}, .visibility_ms = 5000});
  EXPECT_EQ(world.advance(60'000),
            "JobRequeued(j1 lease_expired) | JobFailed(j2 #1 retryable +1000 timeout)");
}

TEST(Timers, AJobNotDeliveredInTimeExpires) {
  World world;
  int64_t end = world.now_ms + 1000;
  world.push({new_job({.expires_ms = end}), new_job({.expires_ms = end, .pending = true}),
              new_job({.scheduled_ms = end + 1, .expires_ms = end}), new_job({.expires_ms = end})});
  EXPECT_EQ(world.fetch(), "JobLeased(j1 w1 #1)") << "a delivered job does not expire";
  std::string told = world.advance(1000);
  for (const char* job : {"j2", "j3", "j4"}) {
    EXPECT_NE(told.find(std::string("JobExpired(") + job + ")"), std::string::npos) << told;
    EXPECT_EQ(world.state_of(job), "discarded");
    EXPECT_TRUE(world.job(job).expired);
  }
  EXPECT_EQ(world.fetch(), "nothing");
  EXPECT_EQ(world.ack("j1"), "JobCompleted(j1)");
}

// A retry that would be due after the job expires does not happen.
TEST(Timers, AWaitingRetryExpiresToo) {
  World world;
  world.push(new_job({.expires_ms = world.now_ms + 500}));
  world.fetch();
  world.nack("j1");
  EXPECT_EQ(world.advance(500), "JobExpired(j1)");
  EXPECT_EQ(world.advance(5000), "nothing");
}

TEST(Timers, ARevivedJobDoesNotExpireAgain) {
  World world;
  world.push(new_job({.expires_ms = world.now_ms + 500}));
  world.advance(500);
  EXPECT_EQ(world.revive("j1"), "JobRevived(j1)");
  EXPECT_FALSE(world.job("j1").expired);
  EXPECT_EQ(world.advance(5000), "nothing");
  EXPECT_EQ(world.fetch(), "JobLeased(j1 w1 #1)");
}

TEST(Timers, AFrameFiresSoManyAndSaysThatMoreAreDue) {
  World world;
  for (int i = 0; i < 5; ++i) world.push(new_job({.scheduled_ms = world.now_ms + 1}));
  world.now_ms += 1;
  bool more = false;
  world.frame([&](Frame& frame) { return more = fire_timers(frame, 4), std::string(); });
  EXPECT_TRUE(more);
  EXPECT_EQ(world.state().find_queue("q")->count(JobState::Available), 4u);
  world.frame([&](Frame& frame) { return more = fire_timers(frame, 4), std::string(); });
  EXPECT_FALSE(more);
  EXPECT_EQ(world.state().find_queue("q")->count(JobState::Available), 5u);
}

}  // namespace
}  // namespace pawl
