// Runs of definitions: steps through the whole way of an effect and its receipt, with an action
// that does as good as nothing; and what it costs that many wait, or that one loops for long.
#include <algorithm>
#include <thread>

#include "failure.h"
#include "fsync_probe.h"
#include "measured_flow.h"
#include "requests.h"
#include "samples.h"
#include "workloads.h"

namespace pawl::bench {
namespace {

constexpr int kSteps = 10;
constexpr double kStepAllowanceMs = 0.15;
constexpr int kFsyncCount = 500;
constexpr auto kSettle = std::chrono::seconds(2);

Status register_definition(const Address& address, const std::string& request) {
  PAWL_TRY(Caller caller, Caller::connect(address));
  PAWL_TRY(const Reply reply, caller.call(request));
  if (reply.status == 201) return ok_status();
  return fail("expected status 201:\n{}", excerpt(reply));
}

Status run_many(Bench& bench, const std::string& name, bool parallel) {
  PAWL_TRY(const FreshServer server, FreshServer::start(bench.options));
  PAWL_TRY_DO(register_definition(server.address(), definition_request(kSteps, parallel)));
  FlowPlan plan;
  plan.produce = run_request("30s");
  plan.produce_expect = R"("status":"completed")";
  plan.jobs_per_produce = kSteps;
  plan.producers = connections_or(bench.options, 256);
  plan.seconds = bench.options.seconds;
  PAWL_TRY(const MeasuredFlow runs, measure_flow(*server.process, name, plan));
  bench.report.add_with_cpu_target(runs.row, 20'000);
  return ok_status();
}

}  // namespace

Status run_definition_steps(Bench& bench) { return run_many(bench, "definition-steps", false); }
Status run_definition_fan_out(Bench& bench) { return run_many(bench, "definition-fan-out", true); }

// One run of ten steps, each committed before the next begins.
Status run_lone_definition(Bench& bench) {
  PAWL_TRY(const FreshServer server, FreshServer::start(bench.options));
  PAWL_TRY_DO(register_definition(server.address(), definition_request(kSteps, false)));
  PAWL_TRY(FsyncFigures before, probe_fsync(server.directory->path(), kFsyncCount));
  PAWL_TRY(Caller caller, Caller::connect(server.address()));
  const std::string start = run_request("30s");
  Samples runs;
  const auto begin = Clock::now();
  auto last = begin;
  while (seconds_between(begin, last) < bench.options.seconds) {
    const auto asked = Clock::now();
    PAWL_TRY(const Reply reply, caller.call(start));
    if (reply.status != 201) return fail("expected status 201:\n{}", excerpt(reply));
    last = Clock::now();
    runs.add(last - asked);
  }
  PAWL_TRY(FsyncFigures after, probe_fsync(server.directory->path(), kFsyncCount));
  const double fsync_ms =
      std::min(before.latency.percentile_ms(0.50), after.latency.percentile_ms(0.50));
  bench.report.add(Figure{"lone-definition.fdatasync_p50_ms", fsync_ms});
  bench.report.add(Figure{"lone-definition.p50_ms", runs.percentile_ms(0.50),
                          Target{Target::Side::AtMost, kSteps * (fsync_ms + kStepAllowanceMs)}});
  bench.report.add(Figure{"lone-definition.p99_ms", runs.percentile_ms(0.99)});
  return ok_status();
}

// Runs that wait for a timer in an hour and for a decision.
Status run_waiting_definitions(Bench& bench) {
  PAWL_TRY(const FreshServer server, FreshServer::start(bench.options));
  PAWL_TRY_DO(register_definition(server.address(), waiting_definition_request()));
  std::this_thread::sleep_for(kSettle);
  PAWL_TRY(const ProcessStat empty, process_stat(server.process->pid()));
  FlowPlan plan;
  plan.produce = run_request("0s");
  plan.producers = 64;
  plan.produce_max = bench.options.waiting_runs;
  PAWL_TRY(const MeasuredFlow filled, measure_flow(*server.process, "waiting-definitions", plan));
  bench.report.add(filled.row);
  std::this_thread::sleep_for(5 * kSettle);  // until rows are written and memory is given back
  PAWL_TRY(const ProcessStat full, process_stat(server.process->pid()));
  bench.report.add(Figure{"waiting-definitions.rss_mib_added",
                          static_cast<double>(full.rss_bytes - empty.rss_bytes) / (1 << 20),
                          Target{Target::Side::AtMost, 100}});
  std::this_thread::sleep_for(kSettle);
  PAWL_TRY(const ProcessStat later, process_stat(server.process->pid()));
  bench.report.add(Figure{"waiting-definitions.idle_cpu_share",
                          (later.cpu_seconds - full.cpu_seconds) / 2.0,
                          Target{Target::Side::AtMost, 0.01}});
  return ok_status();
}

// The cost of an iteration must not grow with their number.
Status run_long_loop(Bench& bench) {
  PAWL_TRY(const FreshServer server, FreshServer::start(bench.options));
  double first = 0;
  for (int iterations : {10'000, 100'000}) {
    PAWL_TRY(Caller caller, Caller::connect(server.address()));
    PAWL_TRY(Meter meter, Meter::start(*server.process));
    const std::string request = loop_run_request(iterations);
    const auto begin = Clock::now();
    PAWL_TRY(Reply reply, caller.call(request, std::chrono::minutes(5)));
    if (reply.status != 201) return fail("expected status 201:\n{}", excerpt(reply));
    if (reply.body.find(R"("status":"completed")") == std::string_view::npos)
      return fail("a loop of {} iterations did not complete in a minute:\n{}", iterations,
                  excerpt(reply));
    Row row{
        "loop-" + std::to_string(iterations), iterations, seconds_between(begin, Clock::now()), {}};
    PAWL_TRY(row.usage, meter.stop());
    bench.report.add(row);
    const double each = row.usage.server_cpu_seconds / iterations;
    if (first == 0) {
      first = each;
    } else {
      bench.report.add(Figure{"loop.cost_ratio_ten_times_longer", each / first,
                              Target{Target::Side::AtMost, 1.5}});
    }
  }
  return ok_status();
}

}  // namespace pawl::bench
