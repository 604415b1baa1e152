// Work that makes more work: chains advance, batches call back.
#include "failure.h"
#include "measured_flow.h"
#include "requests.h"
#include "workloads.h"

namespace pawl::bench {

Status run_chains(Bench& bench) {
  constexpr int kSteps = 10;
  FlowPlan plan;
  plan.produce = chain_request(kSteps);
  plan.jobs_per_produce = kSteps;
  plan.producers = 8;
  plan.seconds = bench.options.seconds;
  plan.outstanding_max = bench.options.chains_in_flight * kSteps;
  plan.workers = connections_or(bench.options, 64);
  plan.ack = AckMode::AndFetch;
  PAWL_TRY(const FreshServer server, FreshServer::start(bench.options));
  PAWL_TRY(const MeasuredFlow chains, measure_flow(*server.process, "chains", plan));
  bench.report.add_with_cpu_target(chains.row, 15'000);
  return ok_status();
}

Status run_batches(Bench& bench) {
  constexpr int kBatches = 20;
  constexpr int kJobs = 1000;
  FlowPlan plan;
  plan.produce = batch_workflow_request(kJobs);
  plan.jobs_per_produce = kJobs + 1;  // and the callback
  plan.producers = 4;
  plan.produce_max = kBatches;
  plan.workers = connections_or(bench.options, 64);
  plan.ack = AckMode::AndFetch;
  PAWL_TRY(const FreshServer server, FreshServer::start(bench.options));
  PAWL_TRY(const MeasuredFlow batches, measure_flow(*server.process, "batches", plan));
  if (batches.outcome.callbacks != kBatches) {
    return fail("{} batches called back {} times", kBatches, batches.outcome.callbacks);
  }
  bench.report.add_with_cpu_target(batches.row, 15'000);
  return ok_status();
}

}  // namespace pawl::bench
