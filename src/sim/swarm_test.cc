// A failing seed is found among many, shrunk, kept, and repeated.
#include "sim/swarm.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "sim/case_file.h"
#include "sim/isolated.h"
#include "sim/shrink.h"

namespace pawl::sim {
namespace {

TEST(CaseFile, IsReadAsItWasWritten) {
  SimOptions options{.seed = 812, .steps = 40, .plant = "callback_twice"};
  options.only = {{3, 17, 29}};
  SimReport report;
  report.checker = "I4 callback";
  report.what = "a callback was called twice";
  auto read = read_case(write_case(options, report));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->seed, 812u);
  EXPECT_EQ(read->steps, 40u);
  EXPECT_EQ(read->plant, "callback_twice");
  EXPECT_EQ(read->only, options.only);
}

TEST(CaseFile, SaysWhichLineItDoesNotKnow) {
  for (const char* text : {"seed x", "seed", "steps -1", "only 1,2", "colour red", "seed 1 2"}) {
    auto read = read_case(std::string("# a story\n") + text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().message.find("line 2"), 0u) << read.error().message;
  }
}

TEST(Shrink, LeavesAShortStoryOfTheSameKind) {
  SimOptions options{.seed = 1, .plant = "callback_twice"};
  SimReport whole = run_isolated(options);
  while (whole.ok && options.seed < 100) {
    ++options.seed;
    whole = run_isolated(options);
  }
  ASSERT_FALSE(whole.ok);
  Shrunk shrunk = shrink(options);
  ASSERT_TRUE(shrunk.options.only.has_value());
  EXPECT_LE(shrunk.options.only->size(), 5u);
  SimReport again = run_isolated(shrunk.options);
  EXPECT_EQ(again.checker, whole.checker);
  // No single step can be removed.
  for (size_t i = 0; i < shrunk.options.only->size(); ++i) {
    SimOptions fewer = shrunk.options;
    fewer.only->erase(fewer.only->begin() + static_cast<ptrdiff_t>(i));
    EXPECT_NE(run_isolated(fewer).checker, whole.checker) << "without step " << i;
  }
}

TEST(Swarm, TellsTheSameHoweverManyProcessesShareTheSeeds) {
  SwarmPlan plan;
  plan.count_max = 24;
  SwarmTotals alone = run_swarm(plan);
  plan.processes = 3;
  SwarmTotals together = run_swarm(plan);
  EXPECT_EQ(alone.seeds, 24u);
  EXPECT_EQ(together.seeds, 24u);
  EXPECT_EQ(together.hashes, alone.hashes);
  EXPECT_EQ(together.events, alone.events);
  EXPECT_EQ(together.failures, 0u);
}

TEST(Swarm, KeepsWhatBreaks) {
  std::string directory = testing::TempDir() + "swarm-keeps-what-breaks";
  std::filesystem::remove_all(directory);
  SwarmPlan plan;
  plan.first.plant = "release_before_commit";
  plan.count_max = 1;
  plan.save_to = directory;
  EXPECT_EQ(run_swarm(plan).failures, 1u);
  auto kept = read_case_file(directory + "/seed-1.sim");
  ASSERT_TRUE(kept.ok()) << kept.error().message;
  EXPECT_EQ(run_isolated(*kept).checker, "I3 release");
  std::filesystem::remove_all(directory);
}

// Seeds that once broke an invariant.
TEST(Seeds, KeptStoriesHold) {
  size_t stories = 0;
  for (const auto& entry : std::filesystem::directory_iterator("tests/seeds")) {
    if (entry.path().extension() != ".sim") continue;
    auto options = read_case_file(entry.path());
    ASSERT_TRUE(options.ok()) << entry.path() << ": " << options.error().message;
    SimReport report = run_isolated(*options);
    EXPECT_TRUE(report.ok) << entry.path() << " broke " << report.checker << ": " << report.what
                           << "\n"
                           << report.last_lines;
    ++stories;
  }
  EXPECT_GT(stories, 0u);
}

}  // namespace
}  // namespace pawl::sim
