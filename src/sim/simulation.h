// The simulator's interface: a seed in, a report out. The same seed gives the same trace, to the
// last byte, in every build.
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
  bool trace = false;      // print the trace
  std::string plant = {};  // a bug to plant, a name of plants.def; empty: none
  std::string store = {};  // the store; empty: drawn from the seed
  bool cluster = false;    // a cluster of nodes over one database
  bool modules = false;    // some worlds run module worlds beside jobs and definitions
  // Only these steps, with unchanged random draws: for shrinking a trace.
  std::optional<std::vector<uint32_t>> only = {};
};

struct SimReport {
  bool ok = true;
  std::string checker;     // the checker that failed
  std::string what;        // how
  std::string last_lines;  // the end of the trace
  uint64_t trace_hash = 0;
  uint32_t steps_done = 0;  // up to the one that broke it
  uint64_t jobs = 0;
  uint64_t runs = 0;
  uint64_t definitions = 0;  // runs of them
  uint64_t frames = 0;       // of module worlds
  uint64_t events = 0;
  uint64_t crashes = 0;
  ProbeCounts probes{};
};

// An unknown plant is refused as a failed report.
SimReport run_simulation(const SimOptions& options);

}  // namespace pawl::sim
