#include "kernel/jobs/change_job.h"

#include <gtest/gtest.h>

#include "kernel/jobs/queue.h"
#include "kernel/mutable_state.h"
#include "kernel/state.h"
#include "kernel/testing/world.h"

namespace pawl {
namespace {

struct ChangeWorld : World {
  std::string change(const std::string& job, ChangeJob command) {
    command.job = names.id(job);
    return frame([&](Frame& f) { return refused(change_job(f, command)); });
  }
};

TEST(ChangeJob, APriorityMovesTheJobAndKeepsItsTurnAmongEquals) {
  ChangeWorld world;
  for (int i = 0; i < 3; ++i) world.push();
  EXPECT_EQ(world.change("j3", {.priority = 5}), "JobRequeued(j3 changed available priority 5)");
  EXPECT_EQ(world.change("j3", {.priority = 5}), "nothing");
  EXPECT_EQ(world.change("j1", {.priority = 5}), "JobRequeued(j1 changed available priority 5)");
  EXPECT_EQ(world.fetch(3), "JobLeased(j1 w1 #1) | JobLeased(j3 w1 #1) | JobLeased(j2 w1 #1)");
}

TEST(ChangeJob, ATimeSendsItAwayAndBringsItBack) {
  ChangeWorld world;
  world.push();
  int64_t later = world.now_ms + 5000;
  EXPECT_EQ(world.change("j1", {.scheduled_ms = later}),
            "JobRequeued(j1 changed scheduled priority 0 +5000)");
  EXPECT_EQ(world.fetch(), "nothing");
  const Queue& queue = *world.state().find_queue("q");
  EXPECT_EQ(queue.count(JobState::Scheduled), 1u);
  EXPECT_EQ(queue.count(JobState::Available), 0u);
  EXPECT_EQ(world.change("j1", {.scheduled_ms = later + 5000}),
            "JobRequeued(j1 changed scheduled priority 0 +10000)");
  EXPECT_EQ(world.advance(5000), "nothing");
  EXPECT_EQ(world.change("j1", {.scheduled_ms = 0}),
            "JobRequeued(j1 changed available priority 0)");
  EXPECT_EQ(world.advance(60'000), "nothing") << "the old timer is gone";
  EXPECT_EQ(world.fetch(), "JobLeased(j1 w1 #1)");
}

TEST(ChangeJob, OnlyWhatWaitsCanBeChanged) {
  ChangeWorld world;
  world.push();
  world.fetch();
  EXPECT_EQ(world.change("j1", {.priority = 1}),
            "rejected conflict: job j1 is active; only a job that is available, scheduled or "
            "pending can be changed");
  world.nack("j1");
  EXPECT_EQ(world.change("j1", {.priority = 1}).substr(0, 39),
            "rejected conflict: job j1 is retryable;");
  world.cancel("j1");
  EXPECT_EQ(world.change("j1", {.priority = 1}).substr(0, 39),
            "rejected conflict: job j1 is cancelled;");
  EXPECT_EQ(world.change("x", {.priority = 1}).substr(0, 18), "rejected not_found");
  NewJob pending = new_job();
  pending.pending = true;
  world.push(pending);
  EXPECT_EQ(world.change("j2", {.scheduled_ms = 0}),
            "rejected conflict: job j2 is pending; it has no time before it is activated");
  EXPECT_EQ(world.change("j2", {.priority = 9}), "JobRequeued(j2 changed pending priority 9)");
  world.activate("j2");
  EXPECT_EQ(world.job("j2").priority, 9);
}

// The old place must not be found again, whether it was in memory or on disk.
TEST(ChangeJob, SurvivesARestartAtEveryMoment) {
  for (int moment = 0; moment < 4; ++moment) {
    SCOPED_TRACE(moment);
    ChangeWorld world;
    world.push();
    world.push();
    auto settle = [&] {
      world.collect(100);
      world.commit_rows();
      world.evict();
    };
    if (moment & 1) settle();
    JobSpec spec;
    ASSERT_TRUE(codec::decode(world.job("j2").spec, spec));
    spec.meta = R"({"a":1})";
    world.change("j2", {.priority = 7, .spec = codec::encoded(spec)});
    if (moment & 2) settle();
    world.restart();
    EXPECT_EQ(world.job("j2").spec_view().meta, R"({"a":1})");
    EXPECT_EQ(world.fetch(5), "JobLeased(j2 w1 #1) | JobLeased(j1 w1 #1)");
    EXPECT_EQ(world.state().find_queue("q")->count(JobState::Available), 0u);
  }
}

TEST(DeletedQueue, ComesBackWithTheNextUse) {
  ChangeWorld world;
  auto remove = [](QueueSettings& settings) { settings = {.deleted = true}; };
  auto is_deleted = [&] { return world.state().find_queue("q")->settings.deleted; };
  world.configure("q", remove);
  EXPECT_TRUE(is_deleted());
  world.restart();
  EXPECT_TRUE(is_deleted());
  world.push();
  EXPECT_FALSE(is_deleted());
  world.restart();
  EXPECT_FALSE(is_deleted());
  world.configure("q", remove);
  world.configure("q", [](QueueSettings& settings) { settings.paused = true; });
  EXPECT_FALSE(is_deleted());
}

}  // namespace
}  // namespace pawl
