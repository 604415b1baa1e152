// Jobs as fast as they go in, and as fast as they go through.
#include "measured_flow.h"
#include "requests.h"
#include "workloads.h"

namespace pawl::bench {
namespace {

Result<MeasuredFlow> measure_fresh(const Bench& bench, std::string name, FlowPlan plan) {
  plan.seconds = bench.options.seconds;
  PAWL_TRY(const FreshServer server, FreshServer::start(bench.options));
  return measure_flow(*server.process, std::move(name), plan);
}

}  // namespace

Status run_push(Bench& bench) {
  FlowPlan plan;
  plan.produce = push_request();
  plan.producers = connections_or(bench.options, 64);
  PAWL_TRY(const MeasuredFlow push, measure_fresh(bench, "push", plan));
  bench.report.add_with_cpu_target(push.row, 32'000);
  bench.report.add(Figure{"push.share_of_echo_rate",
                          push.row.jobs_per_second() / bench.echo_requests_per_second,
                          Target{Target::Side::AtLeast, 0.30}});
  return ok_status();
}

Status run_push_batch(Bench& bench) {
  FlowPlan plan;
  plan.produce = push_batch_request(100);
  plan.produce_expect = "\"count\":100";
  plan.jobs_per_produce = 100;
  plan.producers = 16;
  PAWL_TRY(const MeasuredFlow push, measure_fresh(bench, "push-batch", plan));
  bench.report.add_with_cpu_target(push.row, 100'000);
  return ok_status();
}

Status run_lifecycle(Bench& bench) {
  FlowPlan plan;
  plan.produce = push_request();
  plan.producers = connections_or(bench.options, 32);
  plan.outstanding_max = 5'000;
  plan.workers = connections_or(bench.options, 64);
  plan.ack = AckMode::Each;
  plan.fetch_count = 10;
  PAWL_TRY(const MeasuredFlow lifecycle, measure_fresh(bench, "lifecycle", plan));
  bench.report.add_with_cpu_target(lifecycle.row, 12'000);
  return ok_status();
}

Status run_lifecycle_bulk(Bench& bench) {
  PAWL_TRY(const MeasuredFlow bulk, measure_fresh(bench, "lifecycle-bulk", bulk_lifecycle_plan()));
  bench.report.add_with_cpu_target(bulk.row, 60'000);
  return ok_status();
}

}  // namespace pawl::bench
