// A worker made of a shell command: fetches, runs the command for each job, reports the result, and
// renews the leases of running jobs. It completes, fails or returns every fetched job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.h"

namespace pawl::cli {

constexpr size_t kConcurrencyMax = 256;

struct ExecWorkerOptions {
  std::vector<std::string> queues;
  std::string command;
  std::string worker_id;
  size_t concurrency = 1;
  int64_t lease_ms = 30'000;
  bool once = false;
};

// Returns after SIGTERM or SIGINT, or with `once` when no job waits. `given` has the server's
// address.
int run_exec_worker(const Invocation& given, const ExecWorkerOptions& options);

}  // namespace pawl::cli
