// The command line of pawl_bench.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace pawl::bench {

struct Options {
  std::vector<std::string> workloads;  // as given; "all" stands for each of them
  std::string pawl;                    // the server; by default the one beside this program
  std::string data_root = ".";
  std::string postgres = "tools/postgres";  // starts a PostgreSQL server in a directory
  bool json = false;
  double seconds = 5;
  int connections = 0;  // of the single-request workloads; 0: each workload's own number
  int64_t rate_jobs_per_second = 2'000;
  int64_t restart_jobs = 1'000'000;
  int64_t stored_jobs = 5'000'000;
  int64_t queued_jobs = 500'000;
  int64_t chains_in_flight = 200;
  int64_t batches = 20;
  int64_t resting_workflows = 1'000'000;
  int64_t waiting_runs = 100'000;
};

std::string usage_text();

// An error names the argument and what was wrong with it.
Result<Options> parse_options(int argc, const char* const* argv);

}  // namespace pawl::bench
