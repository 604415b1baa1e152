// The workloads: each starts a server of its own in a fresh directory, so that none finds another's
// leavings, and adds what it found to the report. An error means that the server or the run was
// wrong, and that its figures are worth nothing.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "options.h"
#include "report.h"

namespace pawl::bench {

struct Bench {
  Options options;
  Report report;
  double echo_requests_per_second = 0;  // the yardstick of `push`
};

struct Workload {
  std::string_view name;
  std::string_view what;
  Status (*run)(Bench& bench);
};

std::span<const Workload> all_workloads();

// What the machine can do, measured in the same run as everything that is read against it.
Status measure_yardsticks(Bench& bench);

// throughput.cc
Status run_push(Bench& bench);
Status run_push_batch(Bench& bench);
Status run_lifecycle(Bench& bench);
Status run_lifecycle_bulk(Bench& bench);
// workflows.cc
Status run_chains(Bench& bench);
Status run_batches(Bench& bench);
Status run_lone_chain(Bench& bench);
Status run_at_rest(Bench& bench);
// definitions.cc
Status run_definition_steps(Bench& bench);
Status run_definition_fan_out(Bench& bench);
Status run_lone_definition(Bench& bench);
Status run_waiting_definitions(Bench& bench);
Status run_long_loop(Bench& bench);
// cluster.cc
Status run_cluster(Bench& bench);
// latency.cc
Status run_single(Bench& bench);
Status run_rate(Bench& bench);
// capacity.cc
Status run_restart(Bench& bench);
Status run_stored(Bench& bench);
Status run_queued_memory(Bench& bench);
Status run_idle(Bench& bench);

}  // namespace pawl::bench
