// Swarm: runs many seeds at once, a process for each core, until the time is up. A failing seed is
// shrunk and kept as a case file.
#pragma once

#include <string>

#include "sim/simulation.h"

namespace pawl::sim {

struct SwarmTotals {
  uint64_t seeds = 0;
  uint64_t failures = 0;
  uint64_t jobs = 0;
  uint64_t runs = 0;
  uint64_t definitions = 0;  // runs of them
  uint64_t frames = 0;       // of module worlds
  uint64_t events = 0;
  uint64_t crashes = 0;
  uint64_t hashes = 0;  // the sum of all traces' hashes, independent of their order
  ProbeCounts probes{};

  void add(const SimReport& report);
  void add(const SwarmTotals& other);
};

struct SwarmPlan {
  SimOptions first;  // seeds count on from its seed
  uint64_t count_max = UINT64_MAX;
  int64_t seconds_max = INT64_MAX;
  unsigned processes = 1;
  std::string save_to;  // a directory for case files; empty: they are only printed
};

// Prints progress and failures to stdout. Stops early after a few failures.
SwarmTotals run_swarm(const SwarmPlan& plan);

}  // namespace pawl::sim
