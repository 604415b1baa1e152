#include "kernel/jobs/push_jobs.h"

#include <gtest/gtest.h>

#include "kernel/jobs/queue.h"
#include "kernel/mutable_state.h"
#include "kernel/state.h"
#include "kernel/state_config.h"
#include "kernel/testing/world.h"

namespace pawl {
namespace {

JobId client_id(uint64_t n) { return JobId(Uuid::v7(kWorldStartMs, n, n, 0)); }

TEST(PushJobs, BornAvailableScheduledOrPending) {
  World world;
  EXPECT_EQ(world.push(), "JobCreated(j1 available)");
  EXPECT_EQ(world.push(new_job({.scheduled_ms = world.now_ms + 5000})),
            "JobCreated(j2 scheduled +5000)");
  EXPECT_EQ(world.push(new_job({.scheduled_ms = world.now_ms - 5000})), "JobCreated(j3 available)");
  EXPECT_EQ(world.push(new_job({.scheduled_ms = world.now_ms})), "JobCreated(j4 available)");
  EXPECT_EQ(world.push(new_job({.pending = true})), "JobCreated(j5 pending)");
  EXPECT_EQ(world.job("j1").attempt, 0u);
  EXPECT_EQ(world.job("j1").enqueued_ms, world.now_ms);
  EXPECT_EQ(world.job("j2").enqueued_ms, 0);
  EXPECT_EQ(world.state().find_queue("q")->depth(), 5u);
}

TEST(PushJobs, PendingWaitsForItsActivation) {
  World world;
  world.push(new_job({.pending = true}));
  EXPECT_EQ(world.fetch(), "nothing");
  EXPECT_EQ(world.activate("j1"), "JobPromoted(j1)");
  EXPECT_EQ(world.activate("j1"), "rejected conflict: job j1 is available, not pending");
  EXPECT_EQ(world.fetch(), "JobLeased(j1 w1 #1)");
  EXPECT_EQ(world.activate("nobody").substr(0, 18), "rejected not_found");
}

TEST(PushJobs, AClientIdIsTakenOnce) {
  World world;
  EXPECT_EQ(world.push(new_job({.id = client_id(7)})), "JobCreated(j1 available)");
  EXPECT_EQ(world.push(new_job({.id = client_id(7)})),
            "rejected duplicate: a job with the id j1 exists already");
  world.fetch();
  world.ack("j1");
  EXPECT_EQ(world.push(new_job({.id = client_id(7)})),
            "rejected duplicate: a job with the id j1 exists already");
}

// A list is taken completely or not at all, and the refusal names the job.
TEST(PushJobs, AllOrNothing) {
  World world;
  world.push(new_job({.id = client_id(1)}));
  EXPECT_EQ(world.push({new_job(), new_job({.id = client_id(1)}), new_job()}),
            "rejected duplicate: jobs[1]: a job with the id j1 exists already");
  EXPECT_EQ(
      world.push({new_job({.id = client_id(2)}), new_job({.id = client_id(2)})}).substr(0, 28),
      "rejected duplicate: jobs[1]:");
  EXPECT_EQ(world.state().find_queue("q")->depth(), 1u);
  EXPECT_EQ(world.push({new_job(), new_job({.queue = "other"})}),
            "JobCreated(j2 available) | JobCreated(j3 available)");
}

// A deleted id is free again, whether or not its row has already gone from the disk.
TEST(PushJobs, AForgottenIdCanBeUsedAgain) {
  for (bool flushed_before : {false, true}) {
    for (bool flushed_after : {false, true}) {
      World world;
      TestSpec once;
      once.retry.max_attempts = 1;
      std::string old_key(16, 'o');
      world.push(new_job({.id = client_id(7), .unique = {.key = old_key, .states = 0x1ff}}, once));
      if (flushed_before) world.collect(100), world.commit_rows();
      world.fetch();
      world.nack("j1");
      EXPECT_EQ(world.drop_dead("j1"), "JobsForgotten(q j1)");
      if (flushed_after) world.collect(100), world.commit_rows(), world.evict();
      EXPECT_EQ(world.push(new_job({.id = client_id(7), .queue = "new"})),
                "JobCreated(j1 available)");
      EXPECT_EQ(world.push(new_job({.unique = {.key = old_key, .states = 0x1ff}})),
                "JobCreated(j2 available)");
      std::string before = world.state().digest();
      world.collect(1);
      world.commit_rows();
      world.collect(100);
      world.commit_rows();
      world.restart();
      EXPECT_EQ(world.state().digest(), before);
      EXPECT_EQ(world.fetch({.queues = {"q", "new"}, .count = 9}),
                "JobLeased(j2 w1 #1) | JobLeased(j1 w1 #1)");
    }
  }
}

TEST(PushJobs, AQueueHoldsItsDepth) {
  World world;
  world.configure("q", [](QueueSettings& s) { s.depth_max = 2; });
  EXPECT_EQ(world.push({new_job(), new_job(), new_job()}),
            "rejected QUEUE_FULL: jobs[2]: queue 'q' holds its maximum of 2 jobs");
  EXPECT_EQ(world.push({new_job(), new_job({.scheduled_ms = world.now_ms + 1})}),
            "JobCreated(j1 available) | JobCreated(j2 scheduled +1)");
  EXPECT_EQ(world.push(), "rejected QUEUE_FULL: queue 'q' holds its maximum of 2 jobs");
  world.fetch();  // a running job does not wait, so there is room again
  EXPECT_EQ(world.push(), "JobCreated(j3 available)");
  EXPECT_EQ(world.push(new_job({.queue = "other"})), "JobCreated(j4 available)");
}

TEST(PushJobs, QueuesAndLimitKeysAreBounded) {
  StateConfig config;
  config.queues_max = 1;
  config.limits_max = 1;
  World world(config);
  EXPECT_EQ(world.push(new_job({.limit = "k"})), "LimitConfigured(k) | JobCreated(j1 available)");
  EXPECT_EQ(world.push(new_job({.queue = "two"})),
            "rejected overloaded: the server has as many queues as it may hold");
  EXPECT_EQ(world.push(new_job({.limit = "l"})),
            "rejected overloaded: the server has as many rate limit keys as it may hold");
  EXPECT_EQ(world.configure("two", [](QueueSettings& s) { s.paused = true; }),
            "rejected overloaded: the server has as many queues as it may hold");
}

// --- unique jobs

constexpr uint32_t bit(JobState state) { return 1u << static_cast<int>(state); }
constexpr uint32_t kUnfinished = bit(JobState::Scheduled) | bit(JobState::Available) |
                                 bit(JobState::Pending) | bit(JobState::Active) |
                                 bit(JobState::Retryable);

NewJob unique_job(OnConflict on_conflict, uint32_t states = kUnfinished, int64_t period_ms = 0) {
  NewJob job = new_job();
  job.unique = {.key = std::string(16, 'u'),
                .states = states,
                .period_ms = period_ms,
                .on_conflict = on_conflict};
  return job;
}

TEST(UniqueJobs, RejectNamesTheOneThatIsThere) {
  World world;
  EXPECT_EQ(world.push(unique_job(OnConflict::Reject)), "JobCreated(j1 available)");
  EXPECT_EQ(world.push(unique_job(OnConflict::Reject)),
            "rejected duplicate: a job with the same unique key exists: j1");
  world.fetch();
  EXPECT_EQ(world.push(unique_job(OnConflict::Reject)),
            "rejected duplicate: a job with the same unique key exists: j1");
  world.ack("j1");
  EXPECT_EQ(world.push(unique_job(OnConflict::Reject)), "JobCreated(j2 available)");
}

TEST(UniqueJobs, IgnoreAnswersWithTheOneThatIsThere) {
  World world;
  world.push(unique_job(OnConflict::Ignore));
  EXPECT_EQ(world.push(unique_job(OnConflict::Ignore)), "j1 is there");
  EXPECT_EQ(world.push({unique_job(OnConflict::Ignore), new_job()}),
            "JobCreated(j2 available) | j1 is there");
}

TEST(UniqueJobs, ReplaceCancelsTheOldOneEvenWhileItRuns) {
  World world;
  world.push(unique_job(OnConflict::Replace));
  EXPECT_EQ(world.push(unique_job(OnConflict::Replace)),
            "JobCancelled(j1 replaced by a newer unique job) | JobCreated(j2 available)");
  world.fetch();
  EXPECT_EQ(world.push(unique_job(OnConflict::Replace)),
            "JobCancelled(j2 replaced by a newer unique job) | JobCreated(j3 available)");
  EXPECT_EQ(world.ack("j1"), "rejected conflict: job j1 is cancelled, not active");
  EXPECT_EQ(world.ack("j2"), "nothing");  // it was held, and its worker is told
  EXPECT_EQ(world.state_of("j2"), "cancelled");
}

// A finished job that counts as a conflict cannot be cancelled any more; the new one is simply
// created.
TEST(UniqueJobs, ReplaceLeavesAFinishedJobAlone) {
  World world;
  world.push(unique_job(OnConflict::Replace, bit(JobState::Completed)));
  world.fetch();
  world.ack("j1");
  EXPECT_EQ(world.push(unique_job(OnConflict::Replace, bit(JobState::Completed))),
            "JobCreated(j2 available)");
  EXPECT_EQ(world.state_of("j1"), "completed");
}

TEST(UniqueJobs, ReplaceExceptScheduleKeepsTheOldTime) {
  World world;
  NewJob later = unique_job(OnConflict::ReplaceExceptSchedule);
  later.scheduled_ms = world.now_ms + 9000;
  world.push(later);
  world.now_ms += 1000;
  NewJob sooner = unique_job(OnConflict::ReplaceExceptSchedule);
  sooner.scheduled_ms = world.now_ms + 1;
  EXPECT_EQ(world.push(sooner),
            "JobCancelled(j1 replaced by a newer unique job) | JobCreated(j2 scheduled +8000)");
  world.advance(8000);
  EXPECT_EQ(world.push(sooner),  // the old one has no schedule to keep any more; `sooner` is past
            "JobCancelled(j2 replaced by a newer unique job) | JobCreated(j3 available)");
}

TEST(UniqueJobs, OnlyListedStatesConflict) {
  World world;
  world.push(unique_job(OnConflict::Reject, bit(JobState::Active)));
  EXPECT_EQ(world.push(unique_job(OnConflict::Reject, bit(JobState::Active))),
            "JobCreated(j2 available)");
  world.fetch();
  EXPECT_EQ(world.push(unique_job(OnConflict::Reject, bit(JobState::Active))),
            "rejected duplicate: a job with the same unique key exists: j1");
  world.ack("j1");
  EXPECT_EQ(world.push(unique_job(OnConflict::Reject, bit(JobState::Completed))),
            "rejected duplicate: a job with the same unique key exists: j1");
}

TEST(UniqueJobs, ThePeriodRunsFromTheExistingJobsCreation) {
  World world;
  world.push(unique_job(OnConflict::Reject));
  world.now_ms += 4999;
  EXPECT_EQ(world.push(unique_job(OnConflict::Reject, kUnfinished, 5000)),
            "rejected duplicate: a job with the same unique key exists: j1");
  world.now_ms += 1;
  EXPECT_EQ(world.push(unique_job(OnConflict::Reject, kUnfinished, 5000)),
            "JobCreated(j2 available)");
}

TEST(UniqueJobs, ConflictsInsideOneRequest) {
  World world;
  EXPECT_EQ(world.push({unique_job(OnConflict::Reject), unique_job(OnConflict::Reject)}),
            "rejected duplicate: jobs[1]: a job with the same unique key exists: earlier in this "
            "request");
  EXPECT_EQ(world.push({unique_job(OnConflict::Ignore), unique_job(OnConflict::Ignore)}),
            "JobCreated(j1 available) | j1 is there");
  world.cancel("j1");
  EXPECT_EQ(world.push({unique_job(OnConflict::Replace), unique_job(OnConflict::Replace)}),
            "JobCreated(j2 available) | JobCancelled(j2 replaced by a newer unique job) | "
            "JobCreated(j3 available)");
}

// Uniqueness holds also when the first job has left memory.
TEST(UniqueJobs, TheKeyIsFoundOnDiskToo) {
  StateConfig config;
  config.resident_jobs_max = 0;
  World world(config);
  world.push(unique_job(OnConflict::Reject));
  world.collect(100);
  world.commit_rows();
  world.evict();
  EXPECT_EQ(world.state().counts().jobs_resident, 0u);
  EXPECT_EQ(world.push(unique_job(OnConflict::Reject)),
            "rejected duplicate: a job with the same unique key exists: j1");
}

}  // namespace
}  // namespace pawl
