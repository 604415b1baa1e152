// A server of one's own, and a flow against it with its cost.
#pragma once

#include <memory>
#include <string>

#include "flow.h"
#include "options.h"
#include "report.h"
#include "server_process.h"

namespace pawl::bench {

struct FreshServer {
  std::unique_ptr<ScratchDir> directory;  // outlives the process: declared first
  std::unique_ptr<ServerProcess> process;

  static Result<FreshServer> start(const Options& options);
  const Address& address() const { return process->address(); }
};

struct MeasuredFlow {
  Row row;
  FlowOutcome outcome;
};

// Runs the plan and measures it. If it has workers, the queues must be empty afterwards: a job that
// is still there was delivered twice or made up.
Result<MeasuredFlow> measure_flow(const ServerProcess& server, std::string name,
                                  const FlowPlan& plan);

// Puts at least `jobs` jobs into the queue, in batches of 1,000, and leaves them there.
FlowPlan queueing_plan(int64_t jobs);

// Batches of 100 in, fetches of up to 1,000 and bulk acks out.
FlowPlan bulk_lifecycle_plan();

// The workload's number of connections, unless the command line gives one.
int connections_or(const Options& options, int own);

}  // namespace pawl::bench
