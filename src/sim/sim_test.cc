// Tests of the simulator: seeds pass, traces repeat, planted bugs are found, rare paths are
// entered.
#include <gtest/gtest.h>

#include "sim/isolated.h"
#include "sim/plants.h"
#include "sim/simulation.h"

namespace pawl::sim {
namespace {

constexpr uint64_t kSeeds = 1'000;
constexpr uint64_t kModuleSeeds = 300;  // a third of them run module worlds
constexpr uint64_t kClusterSeeds = 120;
constexpr uint64_t kSeedsPerPlant = 100;

std::string story(uint64_t seed, const SimReport& report) {
  return report.ok ? ""
                   : "seed " + std::to_string(seed) + " broke " + report.checker + ": " +
                         report.what + "\n" + report.last_lines;
}

// Every invariant holds in many small worlds, and every rare path is entered.
TEST(Simulation, SeedsHoldAndEveryRarePathIsEntered) {
  ProbeCounts probes{};
  uint64_t crashes = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SimReport report = run_simulation({.seed = seed});
    ASSERT_EQ(story(seed, report), "");
    crashes += report.crashes;
    for (size_t i = 0; i < kProbeCount; ++i) probes[i] += report.probes[i];
  }
  for (uint64_t seed = 1; seed <= kModuleSeeds; ++seed) {
    SimReport report = run_simulation({.seed = seed, .modules = true});
    ASSERT_EQ(story(seed, report), "");
    for (size_t i = 0; i < kProbeCount; ++i) probes[i] += report.probes[i];
  }
  for (uint64_t seed = 1; seed <= kClusterSeeds; ++seed) {
    SimReport report = run_simulation({.seed = seed, .cluster = true});
    ASSERT_EQ(story(seed, report), "");
    for (size_t i = 0; i < kProbeCount; ++i) probes[i] += report.probes[i];
  }
  EXPECT_GT(crashes, kSeeds);
  for (size_t i = 0; i < kProbeCount; ++i)
    EXPECT_GT(probes[i], 0u) << probe_name(static_cast<Probe>(i)) << " was never entered";
}

// A backlog far beyond every window, so that most of it is on disk only.
TEST(Simulation, LongLivesHold) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SimReport report = run_simulation({.seed = seed, .steps = 4'000});
    ASSERT_EQ(story(seed, report), "");
  }
}

TEST(Simulation, TheSameSeedTellsTheSameStory) {
  for (uint64_t seed = 1; seed <= 10; ++seed)
    EXPECT_EQ(run_simulation({.seed = seed}).trace_hash, run_simulation({.seed = seed}).trace_hash)
        << "seed " << seed;
  for (uint64_t seed = 1; seed <= 5; ++seed)
    EXPECT_EQ(run_simulation({.seed = seed, .cluster = true}).trace_hash,
              run_simulation({.seed = seed, .cluster = true}).trace_hash)
        << "cluster " << seed;
  EXPECT_NE(run_simulation({.seed = 1}).trace_hash, run_simulation({.seed = 2}).trace_hash);
}

TEST(Simulation, AnUnknownPlantIsRefused) {
  SimReport report = run_simulation({.plant = "daisy"});
  EXPECT_FALSE(report.ok);
  EXPECT_EQ(report.what, "no such plant: daisy");
}

class PlantedBug : public testing::TestWithParam<PlantInfo> {};

TEST_P(PlantedBug, IsFound) {
  for (uint64_t seed = 1; seed <= kSeedsPerPlant; ++seed) {
    SimReport report = run_isolated({.seed = seed, .plant = std::string(GetParam().name)});
    if (report.ok) continue;
    EXPECT_NE(GetParam().checkers.find(report.checker), std::string::npos) << story(seed, report);
    return;
  }
  FAIL() << GetParam().name << " was not found in " << kSeedsPerPlant << " seeds";
}
INSTANTIATE_TEST_SUITE_P(Simulation, PlantedBug, testing::ValuesIn(all_plants()),
                         [](const auto& plant) { return std::string(plant.param.name); });

}  // namespace
}  // namespace pawl::sim
