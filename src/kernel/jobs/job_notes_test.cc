#include "kernel/jobs/job_notes.h"

#include <gtest/gtest.h>

#include "kernel/mutable_state.h"
#include "kernel/testing/world.h"

namespace pawl {
namespace {

struct NotesWorld : World {
  std::string save(const std::string& job, const std::string& state) {
    return frame([&](Frame& f) { return refused(save_checkpoint(f, {names.id(job), state})); });
  }
  std::string drop(const std::string& job) {
    return frame([&](Frame& f) { return refused(delete_checkpoint(f, names.id(job))); });
  }
  std::string report(const std::string& job, const std::string& progress) {
    return frame([&](Frame& f) {
      return refused(report_progress(f, {names.id(job), progress, "half", ""}));
    });
  }
};

TEST(Checkpoint, CountsSurvivesAFailureAndOutlivesTheJob) {
  NotesWorld world;
  world.push();
  EXPECT_EQ(world.save("j1", R"({"n":1})"), R"(CheckpointSaved(j1 1 {"n":1}))");
  world.fetch();
  EXPECT_EQ(world.save("j1", R"({"n":2})"), R"(CheckpointSaved(j1 2 {"n":2}))");
  world.nack("j1");
  world.advance(1000);
  world.fetch();
  EXPECT_EQ(world.job("j1").extras->checkpoint, R"({"n":2})");
  world.ack("j1");
  EXPECT_EQ(world.job("j1").extras->checkpoint, R"({"n":2})");
  EXPECT_EQ(world.save("j1", "{}"),
            "rejected conflict: job j1 is already in terminal state 'completed'");
}

TEST(Checkpoint, DeletingIsHarmlessAndStartsTheCountAgain) {
  NotesWorld world;
  world.push();
  EXPECT_EQ(world.drop("j1"), "nothing");
  world.save("j1", "{}");
  EXPECT_EQ(world.drop("j1"), "CheckpointDeleted(j1)");
  EXPECT_EQ(world.drop("j1"), "nothing");
  EXPECT_EQ(world.save("j1", "{}"), "CheckpointSaved(j1 1 {})");
  EXPECT_EQ(world.drop("x").substr(0, 18), "rejected not_found");
}

TEST(Progress, TheLatestCountsUntilTheJobEnds) {
  NotesWorld world;
  world.push();
  world.fetch();
  EXPECT_EQ(world.report("j1", "0.25"), "ProgressReported(j1 0.25 half)");
  world.now_ms += 5;
  EXPECT_EQ(world.report("j1", "0.5"), "ProgressReported(j1 0.5 half)");
  EXPECT_EQ(world.job("j1").extras->progress, "0.5");
  EXPECT_EQ(world.job("j1").extras->progress_ms, world.now_ms);
  world.cancel("j1");
  EXPECT_EQ(world.report("j1", "1"),
            "rejected conflict: job j1 is already in terminal state 'cancelled'");
  EXPECT_EQ(world.report("x", "1").substr(0, 18), "rejected not_found");
}

}  // namespace
}  // namespace pawl
