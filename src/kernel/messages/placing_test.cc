// Members of runs and firings of crons that live at another partition: the run goes on as if they
// were here, whatever the way does with the messages.
#include "kernel/messages/placing.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/partition.h"
#include "kernel/jobs/forget_jobs.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/queue.h"
#include "kernel/messages/inbox.h"
#include "kernel/messages/outbox.h"
#include "kernel/settings/cron_jobs.h"
#include "kernel/settings/doc.h"
#include "kernel/testing/post.h"
#include "kernel/testing/run_world.h"
#include "kernel/testing/script_world.h"

namespace pawl {
namespace {

StateConfig place_config(uint16_t partition) {
  StateConfig config;
  config.partition = partition;
  config.partitions = 3;
  return config;
}

// A concurrency key whose home is this partition.
std::string limit_of(uint16_t home, int nth = 0) {
  for (int i = 0;; ++i) {
    std::string key = "limit" + std::to_string(i);
    if (home_of(NameKind::Limit, "", key, 3) == home && nth-- == 0) return key;
  }
}

NewJob limited(uint16_t home, uint32_t concurrency = 1) {
  NewJob job;
  job.limit = limit_of(home);
  job.limit_settings.concurrency = concurrency;
  return job;
}

struct RunPartitions {
  RunWorld zero{place_config(0)};
  RunWorld one{place_config(1)};
  RunWorld two{place_config(2)};
  Post post{{&zero, &one, &two}};

  // The only run of partition 0, after all messages have arrived.
  std::string how() {
    post.carry_all();
    std::string found = "none";
    zero.state().each_run(RunId(), false, 100, [&](const Run& run) {
      if (run.parent.run.is_nil()) found = zero.how(zero.names.of(run.id));
      return true;
    });
    return found;
  }
  std::string run_name() {
    std::string name;
    zero.state().each_run(RunId(), false, 100,
                          [&](const Run& run) { return name = zero.names.of(run.id), false; });
    return name;
  }
};

// All jobs that are at this partition: "available completed".
std::string jobs_here(const World& world) {
  std::string states;
  world.state().each_job_here(JobId(), false, SIZE_MAX, [&](const Job& job) {
    states += (states.empty() ? "" : " ") + std::string(state_name(job.state));
    return true;
  });
  return states;
}

// The states of what is known here of jobs elsewhere.
std::string jobs_elsewhere(const World& world) {
  std::string states;
  world.state().each_job(JobId(), false, SIZE_MAX, [&](const Job& job) {
    if (job.is_elsewhere())
      states += (states.empty() ? "" : " ") + std::string(state_name(job.state));
    return true;
  });
  return states;
}

uint64_t forget_all(Frame& frame) {
  ForgetJobs command;
  command.finished_before_ms = frame.now_ms();
  command.scan_max = command.at_most = 1'000;
  return forget_jobs(frame, command).jobs;
}

TEST(Placing, AMemberWithALimitLivesAtItsHome) {
  RunPartitions world;
  world.zero.start(chain({step(), step(limited(1)), step()}));
  world.zero.pass("1");
  EXPECT_EQ(jobs_here(world.zero), "completed");
  EXPECT_EQ(jobs_elsewhere(world.zero), "available");
  EXPECT_EQ(jobs_here(world.one), "");
  EXPECT_EQ(world.how(), "running 1+0-0/3");
  EXPECT_EQ(jobs_here(world.one), "available");
  EXPECT_EQ(world.zero.pass(), "nobody waits");
  world.one.pass("2");
  EXPECT_EQ(world.how(), "running 2+0-0/3");
  EXPECT_EQ(world.zero.parents(world.zero.take()), "[1,2]");
  EXPECT_EQ(world.post.unsettled(), 0u);
}

// So an id alone says where to ask for the job.
TEST(Placing, TheIdOfAMemberNamesItsPartition) {
  RunPartitions world;
  world.zero.start(group({step(limited(2))}));
  world.how();
  std::vector<JobId> ids;
  auto note = [&](const Job& job) { return ids.push_back(job.id), true; };
  world.zero.state().each_job(JobId(), false, 10, note);
  world.two.state().each_job(JobId(), false, 10, note);
  ASSERT_EQ(ids.size(), 2u);
  EXPECT_EQ(ids[0], ids[1]);
  EXPECT_EQ(ids[0].partition(), 2);
}

TEST(Placing, ALimitIsExactOverRunsOfSeveralPartitions) {
  RunPartitions world;
  for (RunWorld* each : {&world.zero, &world.one, &world.two})
    each->start(group({step(limited(1)), step(limited(1))}));
  world.post.carry_all();
  EXPECT_NE(world.one.take(), "");
  EXPECT_EQ(world.one.take(), "");
  EXPECT_EQ(world.one.state().find_limit(limit_of(1))->active, 1u);
  EXPECT_EQ(world.zero.state().find_limit(limit_of(1)), nullptr);
}

// What its worker is told of the run comes along.
TEST(Placing, TheWorkerIsToldTheResultsOfTheRun) {
  RunPartitions world;
  PlanNode plan = chain({step(), step(limited(1))});
  plan.client_id = "order-7";
  world.zero.start(plan);
  world.zero.pass(R"({"n":1})");
  world.post.carry_all();
  const Job& job = world.one.job(world.one.take());
  const std::string around = "{" + std::string(job.spec_view().around) + "}";
  Value told = Value::parse(around).value();
  EXPECT_EQ(told.find("parent_results")->json(), R"([{"n":1}])");
  EXPECT_EQ(told.find("workflow_id")->json(), R"("order-7")");
  EXPECT_EQ(job.spec_view().around_id, "order-7");
}

TEST(Placing, TheFirstLeaseStartsTheRun) {
  RunPartitions world;
  world.zero.start(group({step(limited(1))}));
  world.post.carry_all();
  EXPECT_EQ(world.zero.run(world.run_name()).started_ms, 0);
  world.one.take();
  world.how();
  EXPECT_NE(world.zero.run(world.run_name()).started_ms, 0);
  EXPECT_EQ(jobs_elsewhere(world.zero), "active");
}

TEST(Placing, AFailedMemberFailsItsRunAndARetryRestartsItThere) {
  RunPartitions world;
  world.zero.start(chain({step(limited(1)), step()}));
  world.post.carry_all();
  world.one.fail();
  EXPECT_EQ(world.how(), "failed 0+1-0/2");
  EXPECT_EQ(world.zero.state()
                .find_job([&] {
                  JobId id;
                  world.zero.state().each_job(JobId(), false, 9,
                                              [&](const Job& job) { return id = job.id, false; });
                  return id;
                }())
                ->extras->errors.back()
                .code,
            "E");
  world.zero.retry(world.run_name());
  EXPECT_EQ(jobs_elsewhere(world.zero), "available");
  EXPECT_EQ(world.how(), "running 0+0-0/2");
  EXPECT_EQ(jobs_here(world.one), "available");
  world.one.pass();
  world.how();
  world.zero.pass();
  EXPECT_EQ(world.how(), "completed 2+0-0/2");
}

TEST(Placing, ARetryOfAMemberThatWasDeletedFailsAgain) {
  RunPartitions world;
  world.zero.start(group({step(limited(1))}));
  world.post.carry_all();
  world.one.fail();
  EXPECT_EQ(world.how(), "failed 0+1-0/1");
  world.one.frame([&](Frame& frame) {
    EXPECT_EQ(forget_all(frame), 1u);
    return "";
  });
  world.zero.retry(world.run_name());
  EXPECT_EQ(world.how(), "failed 0+1-0/1");
}

// Revived by an operator where it is, and completed since: a retry finds that.
TEST(Placing, AMemberRevivedByHandIsNotDoneAgain) {
  RunPartitions world;
  world.zero.start(group({step(limited(1))}));
  world.post.carry_all();
  const std::string job = world.one.take();
  world.one.nack(job);
  EXPECT_EQ(world.how(), "failed 0+1-0/1");
  world.one.revive(job);
  world.one.pass("5");
  EXPECT_EQ(world.how(), "failed 0+1-0/1");
  EXPECT_EQ(jobs_elsewhere(world.zero), "completed");
  world.zero.retry(world.run_name());
  EXPECT_EQ(world.how(), "completed 1+0-0/1");
}

TEST(Placing, CancellingTheRunCancelsMembersThatWait) {
  RunPartitions world;
  world.zero.start(group({step(limited(1)), step(limited(2))}));
  world.post.carry_all();
  world.two.take();
  world.zero.stop(world.run_name());
  world.how();
  EXPECT_EQ(jobs_here(world.one), "cancelled");
  EXPECT_EQ(jobs_here(world.two), "active");  // its worker may go on
  EXPECT_EQ(jobs_elsewhere(world.zero), "cancelled active");
}

// As with a member that is here: its run has ended, so there is nothing to try again for.
TEST(Placing, AMemberOfACancelledRunIsNotTriedAgain) {
  for (bool unwanted : {false, true}) {
    RunPartitions world;
    world.zero.start(group({step(limited(1), {})}));
    world.post.carry_all();
    const std::string job = world.one.take();
    if (unwanted) world.zero.stop(world.run_name());
    world.post.carry_all();
    world.one.nack(job);
    EXPECT_EQ(jobs_here(world.one), unwanted ? "discarded" : "retryable");
    world.how();
    EXPECT_EQ(jobs_elsewhere(world.zero), unwanted ? "discarded" : "active");
    world.one.state().each_doc_key(DocKind::Unwanted, "", 9, [](std::string_view) {
      ADD_FAILURE() << "the note outlives the job";
      return true;
    });
  }
}

TEST(Placing, ARefusedMemberFails) {
  RunPartitions world;
  NewJob unique = limited(1);
  unique.unique.key = std::string(16, 'u');
  unique.unique.states = 1u << static_cast<int>(JobState::Available);
  world.one.push(new_job(unique));
  world.zero.start(group({step(unique)}));
  EXPECT_EQ(world.how(), "failed 0+1-0/1");
  EXPECT_EQ(jobs_here(world.one), "available");
  EXPECT_EQ(world.post.unsettled(), 0u);
}

TEST(Placing, CallbacksAndNestedRunsPlaceTheirJobsToo) {
  RunPartitions world;
  PlanNode inner = batch({step(limited(2))}, {});
  inner.callbacks.resize(kCallbackRoles);
  inner.callbacks[static_cast<size_t>(kComplete)] = codec::encoded(new_job(limited(1), once()));
  world.zero.start(chain({inner, step()}));
  world.post.carry_all();
  EXPECT_EQ(world.two.pass_all(), 1u);
  world.post.carry_all();
  EXPECT_EQ(world.one.pass_all(), 1u);
  world.post.carry_all();
  EXPECT_EQ(world.zero.pass_all(), 1u);
  EXPECT_EQ(world.how(), "completed 2+0-0/2");
}

TEST(Placing, RetentionForgetsWhatIsKnownWithTheRun) {
  RunPartitions world;
  world.zero.start(group({step(limited(1))}));
  world.post.carry_all();
  world.one.pass();
  world.how();
  auto forget = [&] {
    uint64_t jobs = 0;
    world.zero.frame([&](Frame& frame) {
      jobs = forget_all(frame);
      return "";
    });
    return jobs;
  };
  EXPECT_EQ(forget(), 0u);  // its run is there
  world.zero.forget();
  EXPECT_EQ(forget(), 1u);
  EXPECT_EQ(jobs_elsewhere(world.zero), "");
  const std::string before = world.zero.state().digest();
  world.zero.restart_from_rows();
  EXPECT_EQ(world.zero.state().digest(), before);
}

// --- queues and batches

TEST(Placing, APinnedQueueHoldsItsJobsAtItsHome) {
  RunPartitions world;
  const uint16_t home = home_of(NameKind::Queue, "", "q", 3);
  RunWorld* worlds[] = {&world.zero, &world.one, &world.two};
  const uint16_t elsewhere = home == 0 ? 1 : 0;
  world.zero.configure("q", [](QueueSettings& queue) { queue.rate_per_second = 9; });
  world.post.carry_all();
  worlds[elsewhere]->start(group({step()}));
  world.post.carry_all();
  EXPECT_EQ(jobs_here(*worlds[home]), "available");
  world.zero.configure("q", [](QueueSettings& queue) { queue.partition = QueuePlace::Spread; });
  world.post.carry_all();
  worlds[elsewhere]->start(group({step()}));
  EXPECT_EQ(jobs_here(*worlds[elsewhere]), "available");
}

TEST(Placing, QueuesArePinnedByTheirSettings) {
  QueueSettings settings;
  EXPECT_FALSE(is_pinned(settings));
  settings.rate_per_second = 1;
  EXPECT_TRUE(is_pinned(settings));
  settings.partition = QueuePlace::Spread;
  EXPECT_FALSE(is_pinned(settings));
  settings = {.partition = QueuePlace::Pinned};
  EXPECT_TRUE(is_pinned(settings));
}

// A batch is accepted by one partition; each of its jobs goes to its home.
TEST(Placing, PushedJobsAreHandedOverToTheirHomes) {
  RunPartitions world;
  world.zero.push({new_job(), new_job(limited(1)), new_job(limited(2))});
  EXPECT_EQ(jobs_elsewhere(world.zero), "");
  world.post.carry_all();
  for (RunWorld* each : {&world.zero, &world.one, &world.two})
    EXPECT_EQ(jobs_here(*each), "available");
  EXPECT_EQ(world.one.pass_all(), 1u);
  EXPECT_EQ(world.post.carry_all(), 0u);  // nobody waits for its end
}

// --- crons

TEST(Placing, AFiringIsAtHomeAndOverlapSeesItsEnd) {
  RunPartitions world;
  CronSpec cron{.name = "c", .expression = "* * * * *", .timezone = "UTC"};
  cron.job = codec::encoded(new_job(limited(1)));
  world.zero.frame([&](Frame& frame) { return world.zero.refused(put_cron(frame, cron)); });
  world.zero.advance(60'000);
  world.post.carry_all();
  EXPECT_EQ(jobs_here(world.one), "available");
  EXPECT_NE(world.zero.advance(60'000).find("CronSkipped"), std::string::npos);
  world.one.pass();
  world.post.carry_all();
  EXPECT_NE(world.zero.advance(60'000).find("CronFired"), std::string::npos);
  world.post.carry_all();
  EXPECT_EQ(jobs_here(world.one), "completed available");
}

// --- steps of definitions

struct StepPartitions {
  ScriptWorld zero{false, place_config(0)};
  RunWorld one{place_config(1)};
  RunWorld two{place_config(2)};
  Post post{{&zero, &one, &two}};

  std::string begin() {
    return zero.begin(
        "steps: [{id: j, type: job, config: {type: t, queue: q, options: {rate_limit: {key: " +
        limit_of(1) + ", concurrency: 1}}}}]");
  }
  std::string how() {
    post.carry_all();
    return zero.how();
  }
};

TEST(Placing, AStepsJobIsAtHome) {
  StepPartitions world;
  EXPECT_EQ(world.begin(), "active");
  EXPECT_EQ(world.how(), "active");
  EXPECT_EQ(jobs_here(world.one), "available");
  world.zero.crash();
  EXPECT_EQ(world.how(), "active");
  EXPECT_EQ(jobs_here(world.one), "available");
  world.one.pass("42");
  EXPECT_EQ(world.how(), "completed");
  EXPECT_EQ(world.zero.output("j"), "42");
}

TEST(Placing, AStepsJobIsCancelledWithItsRun) {
  StepPartitions world;
  world.begin();
  world.how();
  world.one.take();
  world.zero.cancel();
  world.how();
  EXPECT_EQ(jobs_here(world.one), "cancelled");
  EXPECT_EQ(jobs_elsewhere(world.zero), "cancelled");
}

TEST(Placing, ARefusedJobFailsItsStep) {
  StepPartitions world;
  world.begin();
  world.how();
  world.one.cancel(world.one.take());
  EXPECT_EQ(world.how(), "failed CANCELLED at j");
  world.zero.retry();
  EXPECT_EQ(world.how(), "active");
  EXPECT_EQ(jobs_here(world.one), "cancelled available");
}

}  // namespace
}  // namespace pawl
