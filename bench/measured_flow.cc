#include "measured_flow.h"

#include <algorithm>

#include "failure.h"
#include "reply_scan.h"
#include "requests.h"

namespace pawl::bench {
namespace {

Status check_empty(const Address& address) {
  PAWL_TRY(Caller caller, Caller::connect(address));
  PAWL_TRY(const Reply reply, caller.call(fetch_request(1, 0)));
  std::vector<ScannedJob> jobs;
  if (reply.status != 200 || !scan_jobs(reply.body, jobs) || !jobs.empty()) {
    return fail("every job was acked, yet a fetch does not come back empty:\n{}", excerpt(reply));
  }
  return ok_status();
}

}  // namespace

Result<FreshServer> FreshServer::start(const Options& options) {
  FreshServer server;
  PAWL_TRY(server.directory, ScratchDir::create(options.data_root));
  PAWL_TRY(server.process, ServerProcess::start(options.pawl, server.directory->path()));
  return server;
}

Result<MeasuredFlow> measure_flow(const ServerProcess& server, std::string name,
                                  const FlowPlan& plan) {
  PAWL_TRY(Meter meter, Meter::start(server));
  MeasuredFlow measured;
  PAWL_TRY(measured.outcome, run_flow(server.address(), plan));
  PAWL_TRY(measured.row.usage, meter.stop());
  measured.row.workload = std::move(name);
  measured.row.jobs = measured.outcome.jobs;
  measured.row.seconds = measured.outcome.seconds;
  if (plan.workers > 0) PAWL_TRY_DO(check_empty(server.address()));
  return measured;
}

FlowPlan queueing_plan(int64_t jobs) {
  constexpr int kBatch = 1000;
  FlowPlan plan;
  plan.produce = push_batch_request(kBatch);
  plan.produce_expect = fmt::format("\"count\":{}", kBatch);
  plan.jobs_per_produce = kBatch;
  plan.producers = 4;
  plan.produce_max = (jobs + kBatch - 1) / kBatch;
  return plan;
}

FlowPlan bulk_lifecycle_plan() {
  constexpr int kBatch = 100;
  FlowPlan plan;
  plan.produce = push_batch_request(kBatch);
  plan.produce_expect = fmt::format("\"count\":{}", kBatch);
  plan.jobs_per_produce = kBatch;
  plan.producers = 8;
  plan.outstanding_max = 20'000;
  plan.workers = 8;
  plan.ack = AckMode::Bulk;
  plan.fetch_count = 1000;
  return plan;
}

int connections_or(const Options& options, int own) {
  return options.connections > 0 ? options.connections : own;
}

}  // namespace pawl::bench
