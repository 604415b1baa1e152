#include "kernel/settings/cron_jobs.h"

#include <gtest/gtest.h>

#include "kernel/mutable_state.h"
#include "kernel/settings/doc.h"
#include "kernel/state.h"
#include "kernel/testing/world.h"

namespace pawl {
namespace {

constexpr int64_t kMinute = 60'000;

// The world starts at 22:13:20, so a cron of every minute is due in 40 s.
struct CronWorld : World {
  std::string put(const std::string& expression, CronOverlap overlap = CronOverlap::Skip,
                  bool paused = false, const NewJob& job = new_job()) {
    CronSpec spec;
    spec.name = "c";
    spec.expression = expression;
    spec.timezone = "UTC";
    spec.overlap = overlap;
    spec.paused = paused;
    spec.job = codec::encoded(job);
    return frame([&](Frame& f) { return refused(put_cron(f, spec)); });
  }
  std::string trigger(const std::string& name) {
    return frame([&](Frame& f) { return refused(trigger_cron(f, name)); });
  }
  std::string remove(const std::string& name) {
    return frame([&](Frame& f) { return refused(delete_cron(f, name)); });
  }
};

TEST(Cron, FiresAtEachOfItsTimes) {
  CronWorld world;
  EXPECT_EQ(world.put("* * * * *"), "CronPut(c +40000)");
  EXPECT_EQ(world.state().next_due_ms(), world.now_ms + 40'000);
  EXPECT_EQ(world.advance(39'999), "nothing");
  EXPECT_EQ(world.advance(1), "JobCreated(j1 available) | CronFired(c j1 due +0 next +60000)");
  world.fetch();
  world.ack("j1");
  EXPECT_EQ(world.advance(kMinute),
            "JobCreated(j2 available) | CronFired(c j2 due +0 next +60000)");
  EXPECT_EQ(world.state().find_cron("c")->last_job, world.names.id("j2"));
}

TEST(Cron, RefusesWhatNeverComesDue) {
  CronWorld world;
  EXPECT_EQ(world.put("0 0 30 2 *"),
            "rejected validation_error: the cron expression never comes due");
  EXPECT_EQ(world.state().find_cron("c"), nullptr);
}

// Down for an hour: one run makes up for sixty, and the rhythm goes on from now.
TEST(Cron, MissedRunsAreMadeUpForOnce) {
  CronWorld world;
  world.put("* * * * *", CronOverlap::Allow);
  EXPECT_EQ(world.advance(60 * kMinute),
            "JobCreated(j1 available) | CronFired(c j1 due -3560000 next +40000)");
}

TEST(Cron, SkipLeavesOutARunWhileTheLastOneIsUnfinished) {
  CronWorld world;
  world.put("* * * * *");
  world.advance(40'000);
  EXPECT_EQ(world.advance(kMinute),
            "CronSkipped(c 'the previous run has not finished' due +0 next +60000)");
  world.cancel("j1");
  EXPECT_EQ(world.advance(kMinute),
            "JobCreated(j2 available) | CronFired(c j2 due +0 next +60000)");
}

TEST(Cron, AllowAndEnqueuePushAnyway) {
  for (CronOverlap overlap : {CronOverlap::Allow, CronOverlap::Enqueue}) {
    CronWorld world;
    world.put("* * * * *", overlap);
    world.advance(40'000);
    EXPECT_EQ(world.advance(kMinute),
              "JobCreated(j2 available) | CronFired(c j2 due +0 next +60000)");
  }
}

TEST(Cron, CancelPreviousTakesTheOldRunBack) {
  CronWorld world;
  world.put("* * * * *", CronOverlap::CancelPrevious);
  world.advance(40'000);
  world.fetch();
  EXPECT_EQ(world.advance(kMinute),
            "JobRequeued(j1 lease_expired) | JobCancelled(j1 the next run of its cron is due) | "
            "JobCreated(j2 available) | CronFired(c j2 due +0 next +60000)");
}

TEST(Cron, ARunThatCannotBePushedIsSkippedWithItsReason) {
  CronWorld world;
  world.configure("q", [](QueueSettings& s) { s.depth_max = 1; });
  world.push();
  world.put("* * * * *");
  EXPECT_EQ(world.advance(40'000),
            "CronSkipped(c 'queue 'q' holds its maximum of 1 jobs' due +0 next +60000)");
}

TEST(Cron, PausedNeverFiresAndRunsByHandStill) {
  CronWorld world;
  world.put("* * * * *", CronOverlap::Skip, true);
  EXPECT_EQ(world.advance(10 * kMinute), "nothing");
  EXPECT_EQ(world.trigger("c").substr(0, 43), "JobCreated(j1 available) | CronFired(c j1 d");
  EXPECT_EQ(world.advance(10 * kMinute), "nothing");
}

TEST(Cron, TriggerLeavesTheScheduleAlone) {
  CronWorld world;
  world.put("* * * * *", CronOverlap::Allow);
  EXPECT_EQ(world.trigger("c"), "JobCreated(j1 available) | CronFired(c j1 due +0 next +40000)");
  EXPECT_EQ(world.trigger("d"), "rejected not_found: cron 'd' not found");
  EXPECT_EQ(world.advance(40'000), "JobCreated(j2 available) | CronFired(c j2 due +0 next +60000)");
}

TEST(Cron, ReplacingKeepsItsBirthAndMovesItsTime) {
  CronWorld world;
  world.put("* * * * *");
  int64_t born = world.now_ms;
  world.now_ms += 1000;
  EXPECT_EQ(world.put("0 23 * * *"), "CronPut(c +2799000)");
  EXPECT_EQ(world.state().find_cron("c")->spec.created_ms, born);
  EXPECT_EQ(world.advance(kMinute), "nothing");
  EXPECT_EQ(world.remove("c"), "CronDeleted(c)");
  EXPECT_EQ(world.remove("c"), "rejected not_found: cron 'c' not found");
  EXPECT_EQ(world.advance(1LL << 40), "nothing");
}

// A cron made again under an old name is a new one, whether or not the old one's row has gone yet.
TEST(Cron, ADeletedCronLeavesNothingToItsSuccessor) {
  for (bool flushed : {false, true}) {
    CronWorld world;
    world.put("* * * * *");
    world.advance(40'000);
    world.remove("c");
    if (flushed) world.collect(100), world.commit_rows(), world.evict();
    world.put("* * * * *");
    EXPECT_TRUE(world.state().find_cron("c")->last_job.is_nil());
    EXPECT_EQ(world.advance(kMinute),
              "JobCreated(j2 available) | CronFired(c j2 due +0 next +60000)");
  }
}

// --- intervals, single times, jitter, waiting

CronSpec spec_of(const std::string& name) {
  CronSpec spec;
  spec.name = name;
  spec.timezone = "UTC";
  spec.source = CronSource::Schedule;
  spec.job = codec::encoded(new_job());
  return spec;
}

std::string put_spec(World& world, const CronSpec& spec) {
  return world.frame([&](Frame& f) { return world.refused(put_cron(f, spec)); });
}

TEST(CronEvery, KeepsItsRhythmThroughADowntime) {
  World world;
  CronSpec spec = spec_of("c");
  spec.every_ms = kMinute;
  spec.overlap = CronOverlap::Allow;
  EXPECT_EQ(put_spec(world, spec), "CronPut(c +60000)");
  EXPECT_EQ(world.advance(kMinute),
            "JobCreated(j1 available) | CronFired(c j1 due +0 next +60000)");
  EXPECT_EQ(world.advance(10 * kMinute + 1000),
            "JobCreated(j2 available) | CronFired(c j2 due -541000 next +59000)");
}

TEST(CronAt, ComesOnceAndIsRefusedTooLate) {
  World world;
  CronSpec spec = spec_of("c");
  spec.at_ms = world.now_ms + 1000;
  EXPECT_EQ(put_spec(world, spec), "CronPut(c +1000)");
  EXPECT_EQ(world.advance(5000), "JobCreated(j1 available) | CronFired(c j1 due -4000 next)");
  EXPECT_EQ(world.advance(1LL << 40), "nothing");
  EXPECT_EQ(put_spec(world, spec), "rejected validation_error: the time has passed already");
}

TEST(CronAt, ATimeThatPassedDuringAPauseComesAfterIt) {
  World world;
  CronSpec spec = spec_of("c");
  spec.at_ms = world.now_ms + 1000;
  put_spec(world, spec);
  auto pause = [&](bool paused) {
    return world.frame([&](Frame& f) { return world.refused(pause_cron(f, "c", paused)); });
  };
  pause(true);
  EXPECT_EQ(world.advance(5000), "nothing");
  pause(false);
  EXPECT_EQ(world.advance(0), "JobCreated(j1 available) | CronFired(c j1 due -4000 next)");
}

TEST(CronJitter, IsBoundedAndAlwaysTheSame) {
  std::string stories[2];
  for (std::string& story : stories) {
    World world;
    CronSpec spec = spec_of("c");
    spec.every_ms = kMinute;
    spec.jitter_ms = 10'000;
    spec.overlap = CronOverlap::Allow;
    int64_t begun_ms = world.now_ms;
    put_spec(world, spec);
    for (int i = 1; i <= 20; ++i) {
      int64_t next_ms = world.state().find_cron("c")->next_ms;
      EXPECT_GE(next_ms, begun_ms + i * kMinute);
      EXPECT_LE(next_ms, begun_ms + i * kMinute + 10'000);
      story += world.advance(next_ms - world.now_ms) + "\n";
    }
  }
  EXPECT_EQ(stories[0], stories[1]);
}

// At most one firing waits, it starts when the previous one ends, and a crash in between loses
// nothing.
TEST(CronQueue, OneFiringWaitsForTheEndOfTheLast) {
  for (bool flushed : {false, true}) {
    World world;
    CronSpec spec = spec_of("c");
    spec.every_ms = kMinute;
    spec.overlap = CronOverlap::Queue;
    put_spec(world, spec);
    world.advance(kMinute);
    EXPECT_EQ(world.advance(kMinute),
              "CronSkipped(c 'the previous run has not finished' due +0 next +60000)");
    EXPECT_EQ(world.advance(kMinute),
              "CronSkipped(c 'the previous run has not finished' due +0 next +60000)");
    world.fetch();
    EXPECT_EQ(world.advance(0), "nothing");
    if (flushed) world.collect(100), world.commit_rows(), world.evict();
    world.ack("j1");
    world.restart();
    EXPECT_EQ(world.advance(0),
              "JobCreated(j2 available) | CronFired(c j2 due -60000 next +60000)");
    EXPECT_EQ(world.advance(0), "nothing");
    EXPECT_EQ(world.state().find_cron("c")->waiting_ms, 0);
  }
}

TEST(CronStart, WhatCannotStartIsSaidUntilSomethingDoes) {
  World world;
  CronSpec spec = spec_of("c");
  spec.job.clear();
  spec.definition = "nobody";
  spec.every_ms = kMinute;
  put_spec(world, spec);
  EXPECT_EQ(world.advance(kMinute),
            "CronSkipped(c 'definition 'nobody' not found' due +0 next +60000)");
  EXPECT_EQ(world.state().find_cron("c")->last_error, "definition 'nobody' not found");
}

}  // namespace
}  // namespace pawl
