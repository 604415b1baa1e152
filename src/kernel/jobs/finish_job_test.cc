#include "kernel/jobs/finish_job.h"

#include <gtest/gtest.h>

#include "kernel/jobs/queue.h"
#include "kernel/mutable_state.h"
#include "kernel/state.h"
#include "kernel/testing/world.h"

namespace pawl {
namespace {

struct Leased : World {
  explicit Leased(const TestSpec& spec = {}) {
    push(new_job({}, spec));
    fetch();
  }
};

TestSpec attempts(uint32_t count, OnExhaustion on_exhaustion = OnExhaustion::Discard) {
  TestSpec spec;
  spec.retry.max_attempts = count;
  spec.retry.on_exhaustion = on_exhaustion;
  return spec;
}

TEST(AckJob, CompletesWithItsResult) {
  Leased world;
  world.now_ms += 50;
  EXPECT_EQ(world.ack("j1", "w1", 1, R"({"ok":true})"), R"(JobCompleted(j1 {"ok":true}))");
  EXPECT_EQ(world.job("j1").finished_ms, world.now_ms);
  EXPECT_EQ(world.job("j1").worker, "");
  EXPECT_EQ(world.job("j1").lease_until_ms, 0);
  EXPECT_EQ(world.state().find_queue("q")->count(JobState::Completed), 1u);
  EXPECT_EQ(world.state().find_queue("q")->count(JobState::Active), 0u);
}

// I6: only the current lease can finish a job.
TEST(AckJob, OnlyTheHolderOfTheLeaseCanFinish) {
  Leased world;
  EXPECT_EQ(world.ack("j1", "w2"), "rejected conflict: job j1 is leased to another worker");
  EXPECT_EQ(world.ack("j1", "w1", 2), "rejected conflict: job j1 is in attempt 1");
  EXPECT_EQ(world.nack(NackJob{{world.names.id("j1"), "w2", 0}, {}, false}),
            "rejected conflict: job j1 is leased to another worker");
  EXPECT_EQ(world.state_of("j1"), "active");
  world.advance(kTestLeaseMs);
  EXPECT_EQ(world.ack("j1", "w1", 1), "rejected conflict: job j1 is available, not active");
  world.fetch({.queues = {}, .worker = "w2"});
  EXPECT_EQ(world.ack("j1", "w1", 1), "rejected conflict: job j1 is leased to another worker");
  EXPECT_EQ(world.ack("j1", "", 1), "rejected conflict: job j1 is in attempt 2");
  EXPECT_EQ(world.ack("j1", "w2", 2), "JobCompleted(j1)");
}

TEST(AckJob, ATerminalStateIsFinal) {
  for (auto finish :
       {+[](World& w) { return w.ack("j1"); }, +[](World& w) { return w.nack("j1"); }}) {
    Leased world(attempts(1));
    finish(world);
    std::string state(world.state_of("j1"));
    std::string refusal = "rejected conflict: job j1 is " + state + ", not ";
    EXPECT_EQ(world.ack("j1"), refusal + "active");
    EXPECT_EQ(world.nack("j1"), refusal + "active");
    EXPECT_EQ(world.give_back("j1"), refusal + "active");
    EXPECT_EQ(world.activate("j1"), refusal + "pending");
    EXPECT_EQ(world.extend("j1", "w1"), "not renewed");
    EXPECT_EQ(world.cancel("j1"),
              "rejected conflict: job j1 is already in terminal state '" + state + "'");
    EXPECT_EQ(world.advance(1LL << 40), "nothing");
    EXPECT_EQ(world.state_of("j1"), state);
  }
}

// The worker could not know: it is told, and not refused. Its result is dropped.
TEST(AckJob, OfAJobCancelledUnderTheWorkersHandsIsTakenWithoutAnEffect) {
  Leased world;
  EXPECT_EQ(world.cancel("j1"), "JobCancelled(j1 asked)");
  EXPECT_EQ(world.ack("j1", "w1", 1, "7"), "nothing");
  EXPECT_EQ(world.ack("j1"), "nothing");
  EXPECT_EQ(world.nack("j1"), "nothing");
  EXPECT_EQ(world.give_back("j1"), "nothing");
  EXPECT_EQ(world.state_of("j1"), "cancelled");
  EXPECT_EQ(world.state().find_job(world.names.id("j1"))->result, "");
  EXPECT_EQ(world.extend("j1", "w1"), "not renewed");
  EXPECT_EQ(world.cancel("j1"),
            "rejected conflict: job j1 is already in terminal state 'cancelled'");
  // A worker that did not hold it is refused, as is an earlier lease.
  std::string refusal = "rejected conflict: job j1 is cancelled, not active";
  EXPECT_EQ(world.ack("j1", "w2"), refusal);
  EXPECT_EQ(world.ack("j1", "w1", 2), refusal);
}

TEST(AckJob, OfAJobThatWasCancelledWhileItWaitedIsRefused) {
  World world;
  world.push(new_job());
  world.cancel("j1");
  EXPECT_EQ(world.ack("j1"), "rejected conflict: job j1 is cancelled, not active");
  Leased stale;
  stale.advance(kTestLeaseMs);  // the lease has expired: no worker holds it
  stale.cancel("j1");
  EXPECT_EQ(stale.ack("j1", "w1", 1), "rejected conflict: job j1 is cancelled, not active");
}

TEST(AckJob, NobodyKnowsAnUnknownJob) {
  World world;
  for (const std::string& told : {world.ack("x"), world.nack("x"), world.cancel("x"),
                                  world.revive("x"), world.drop_dead("x")})
    EXPECT_EQ(told.substr(0, 19), "rejected not_found:") << told;
}

TEST(NackJob, WaitsLongerAfterEachFailureUntilAttemptsRunOut) {
  Leased world(attempts(3));
  EXPECT_EQ(world.nack("j1"), "JobFailed(j1 #1 retryable +1000 E)");
  EXPECT_EQ(world.fetch(), "nothing");
  EXPECT_EQ(world.advance(999), "nothing");
  EXPECT_EQ(world.advance(1), "JobPromoted(j1)");
  world.fetch();
  EXPECT_EQ(world.nack("j1"), "JobFailed(j1 #2 retryable +2000 E)");
  world.advance(2000);
  world.fetch();
  EXPECT_EQ(world.nack("j1"), "JobFailed(j1 #3 discarded E)");
  EXPECT_EQ(world.job("j1").finished_ms, world.now_ms);
  EXPECT_EQ(world.job("j1").extras->errors.size(), 3u);
  EXPECT_EQ(world.job("j1").extras->errors[1].attempt, 2u);
  EXPECT_EQ(world.state().find_queue("q")->dead, 0u);
}

TEST(NackJob, ZeroAndOneAttemptBothMeanOneRun) {
  for (uint32_t max : {0u, 1u}) {
    Leased world(attempts(max));
    EXPECT_EQ(world.nack("j1"), "JobFailed(j1 #1 discarded E)");
  }
}

TEST(NackJob, JitterStaysWithinHalfAndIsTheSameForTheSameInput) {
  std::string first;
  for (int run = 0; run < 2; ++run) {
    TestSpec spec;
    spec.retry.no_jitter = false;
    spec.retry.initial_ms = 100'000;
    Leased world(spec);
    std::string told = world.nack("j1");
    int64_t delay = world.job("j1").extras->retry_delay_ms;
    EXPECT_GE(delay, 50'000);
    EXPECT_LE(delay, 150'000);
    EXPECT_EQ(world.job("j1").scheduled_ms, world.now_ms + delay);
    if (run == 1) {
      EXPECT_EQ(told, first);
    }
    first = told;
  }
}

TEST(NackJob, SomeErrorsAreFinal) {
  TestSpec spec;
  spec.retry.non_retryable = {"Auth.*", "Exact", "bad_code"};
  auto told = [&](JobError error) {
    Leased world(spec);
    return world.nack("j1", std::move(error));
  };
  EXPECT_EQ(told({.code = "c", .type = "Auth.Expired"}), "JobFailed(j1 #1 discarded c)");
  EXPECT_EQ(told({.code = "c", .type = "Auth."}), "JobFailed(j1 #1 discarded c)");
  EXPECT_EQ(told({.code = "c", .type = "Auth"}), "JobFailed(j1 #1 retryable +1000 c)");
  EXPECT_EQ(told({.code = "c", .type = "Exact"}), "JobFailed(j1 #1 discarded c)");
  EXPECT_EQ(told({.code = "c", .type = "Exactly"}), "JobFailed(j1 #1 retryable +1000 c)");
  EXPECT_EQ(told({.code = "bad_code", .type = "T"}), "JobFailed(j1 #1 discarded bad_code)");
  EXPECT_EQ(told({.code = "c", .type = "T", .final = true}), "JobFailed(j1 #1 discarded c)");
}

TEST(NackJob, KeepsTheLatestErrorsOnly) {
  Leased world(attempts(60));
  for (int i = 0; i < 40; ++i) {
    world.nack("j1", {.code = "E", .type = "E", .message = std::to_string(i)});
    world.advance(1LL << 30);
    world.fetch();
  }
  ASSERT_EQ(world.job("j1").extras->errors.size(), kErrorsKept);
  EXPECT_EQ(world.job("j1").extras->errors.back().message, "39");
}

TEST(NackJob, AReturnedJobHasItsOldPlaceAgain) {
  World world;
  world.push({new_job(), new_job()});
  world.fetch();
  EXPECT_EQ(world.give_back("j1"), "JobRequeued(j1 returned)");
  EXPECT_EQ(world.fetch(2), "JobLeased(j1 w1 #2) | JobLeased(j2 w1 #1)");
}

TEST(DeadLetter, OnlyWhereThePolicyAsksForIt) {
  Leased world(attempts(1, OnExhaustion::DeadLetter));
  EXPECT_EQ(world.nack("j1"), "JobFailed(j1 #1 discarded dead_letter E)");
  EXPECT_EQ(world.state().find_queue("q")->dead, 1u);
  std::string dead;
  world.state().each_dead(JobId(), 10,
                          [&](const Job& job) { return dead += world.names.of(job.id), true; });
  EXPECT_EQ(dead, "j1");
}

TEST(DeadLetter, ARevivedJobStartsAgainFromNothing) {
  TestSpec spec = attempts(2, OnExhaustion::DeadLetter);
  Leased world(spec);
  world.nack("j1");
  world.advance(1000);
  world.fetch();
  world.nack("j1");
  world.push();
  EXPECT_EQ(world.revive("j1"), "JobRevived(j1)");
  EXPECT_EQ(world.job("j1").attempt, 0u);
  EXPECT_EQ(world.job("j1").finished_ms, 0);
  EXPECT_EQ(world.state().find_queue("q")->dead, 0u);
  EXPECT_EQ(world.state().find_queue("q")->count(JobState::Discarded), 0u);
  EXPECT_EQ(world.revive("j1"), "rejected conflict: job j1 is available, not discarded");
  EXPECT_EQ(world.drop_dead("j1"), "rejected conflict: job j1 is available, not discarded");
  EXPECT_EQ(world.fetch(2), "JobLeased(j2 w1 #1) | JobLeased(j1 w1 #1)");
  EXPECT_EQ(world.nack("j1"), "JobFailed(j1 #1 retryable +1000 E)");
}

TEST(DeadLetter, ADeletedJobIsGone) {
  Leased world(attempts(1, OnExhaustion::DeadLetter));
  world.nack("j1");
  EXPECT_EQ(world.drop_dead("j1"), "JobsForgotten(q j1)");
  EXPECT_EQ(world.state_of("j1"), "gone");
  EXPECT_EQ(world.state().find_queue("q")->dead, 0u);
  EXPECT_EQ(world.state().find_queue("q")->finished_stored(), 0u);
  EXPECT_EQ(world.drop_dead("j1"), "rejected not_found: job j1 not found");
}

TEST(ExtendLease, OnlyByItsWorkerFromNowOn) {
  Leased world;
  world.now_ms += 20'000;
  EXPECT_EQ(world.extend("j1", "w2"), "not renewed");
  EXPECT_EQ(world.extend("j1", "w1"), "LeaseExtended(j1 +30000)");
  EXPECT_EQ(world.advance(29'999), "nothing");
  EXPECT_EQ(world.extend("j1", "w1", 500), "LeaseExtended(j1 +500)");
  EXPECT_EQ(world.advance(500), "JobRequeued(j1 lease_expired)");
  EXPECT_EQ(world.extend("j1", "w1"), "not renewed");
}

TEST(CancelJob, FromEveryUnfinishedState) {
  World world;
  world.push({new_job(), new_job({.scheduled_ms = world.now_ms + 9}), new_job({.pending = true}),
              new_job({.queue = "a"}), new_job({.queue = "b"})});
  world.fetch({.queues = {"a", "b"}, .count = 2});
  world.nack("j5");
  for (const char* job : {"j1", "j2", "j3", "j4", "j5"})
    EXPECT_EQ(world.cancel(job), std::string("JobCancelled(") + job + " asked)");
  EXPECT_EQ(world.advance(1LL << 40), "nothing");
  EXPECT_EQ(world.fetch({.queues = {"q", "a", "b"}, .count = 9}), "nothing");
  EXPECT_EQ(world.state().find_queue("q")->depth(), 0u);
  EXPECT_EQ(world.job("j4").extras->cancel_reason, "asked");
}

}  // namespace
}  // namespace pawl
