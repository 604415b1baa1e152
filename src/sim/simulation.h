// The simulator's front: a seed in, a report out. The same seed gives the same story, to the last
// byte, in every build.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/verdict.h"

namespace pawl::sim {

struct SimOptions {
  uint64_t seed = 1;
  size_t steps = 300;
  bool trace = false;      // print the story as it happens
  std::string plant = {};  // a bug to plant, one of plants(); empty: none
};

struct SimReport {
  bool ok = true;
  std::string checker;     // which promise broke
  std::string what;        // how
  std::string last_lines;  // the end of the story
  uint64_t trace_hash = 0;
  uint64_t jobs = 0;
  uint64_t events = 0;
  uint64_t crashes = 0;
  ProbeCounts probes{};
};

// Bugs that can be planted to test the checkers.
const std::vector<std::string_view>& plants();

// An unknown plant is refused as a failed report.
SimReport run_simulation(const SimOptions& options);

}  // namespace pawl::sim
