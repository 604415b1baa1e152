// The simulator's front: a seed in, a report out. The same seed gives the same story, to the last
// byte, in every build.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/verdict.h"

namespace pawl::sim {

struct SimOptions {
  uint64_t seed = 1;
  size_t steps = 300;
  bool trace = false;      // print the story as it happens
  std::string plant = {};  // a bug to plant, a name of plants.def; empty: none
  std::string store = {};  // what is below the engine; empty: the seed draws it
  // Of these steps only, whose draws are what they were among the others: for shrinking a story.
  std::optional<std::vector<uint32_t>> only = {};
};

struct SimReport {
  bool ok = true;
  std::string checker;     // which promise broke
  std::string what;        // how
  std::string last_lines;  // the end of the story
  uint64_t trace_hash = 0;
  uint32_t steps_done = 0;  // up to the one that broke it
  uint64_t jobs = 0;
  uint64_t runs = 0;
  uint64_t definitions = 0;  // runs of them
  uint64_t events = 0;
  uint64_t crashes = 0;
  ProbeCounts probes{};
};

// An unknown plant is refused as a failed report.
SimReport run_simulation(const SimOptions& options);

}  // namespace pawl::sim
