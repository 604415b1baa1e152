// The two yardsticks: the disk's own fdatasync, and an HTTP server that does nothing.
#include <algorithm>

#include "echo_server.h"
#include "flow.h"
#include "fsync_probe.h"
#include "measured_flow.h"
#include "process_stat.h"
#include "requests.h"
#include "server_process.h"
#include "workloads.h"

namespace pawl::bench {
namespace {

constexpr int kFsyncCount = 1000;
constexpr double kEchoSecondsMax = 3;

Status measure_disk(Bench& bench) {
  PAWL_TRY(const std::unique_ptr<ScratchDir> directory,
           ScratchDir::create(bench.options.data_root));
  PAWL_TRY(FsyncFigures figures, probe_fsync(directory->path(), kFsyncCount));
  bench.report.add(Figure{"fdatasync.per_s", figures.per_second});
  bench.report.add(Figure{"fdatasync.p50_ms", figures.latency.percentile_ms(0.50)});
  bench.report.add(Figure{"fdatasync.p90_ms", figures.latency.percentile_ms(0.90)});
  bench.report.add(Figure{"fdatasync.p99_ms", figures.latency.percentile_ms(0.99)});
  bench.report.add(Figure{"fdatasync.max_ms", figures.latency.percentile_ms(1)});
  return ok_status();
}

Status measure_echo(Bench& bench) {
  PAWL_TRY(const std::unique_ptr<EchoServer> echo, EchoServer::start());
  FlowPlan plan;
  plan.produce = push_request();
  plan.produce_status = 200;
  plan.producers = connections_or(bench.options, 64);
  plan.seconds = std::min(bench.options.seconds, kEchoSecondsMax);
  PAWL_TRY(const ProcessStat before, process_stat(echo->pid()));
  const double own_before = own_cpu_seconds();
  PAWL_TRY(const FlowOutcome outcome, run_flow(echo->address(), plan));
  const double own = own_cpu_seconds() - own_before;
  PAWL_TRY(const ProcessStat after, process_stat(echo->pid()));

  const double requests = static_cast<double>(outcome.requests);
  bench.echo_requests_per_second = requests / outcome.seconds;
  bench.report.add(Figure{"echo.requests_per_s", bench.echo_requests_per_second});
  bench.report.add(
      Figure{"echo.server_cpu_us", (after.cpu_seconds - before.cpu_seconds) * 1e6 / requests});
  bench.report.add(Figure{"echo.client_cpu_us", own * 1e6 / requests});
  return ok_status();
}

}  // namespace

Status measure_yardsticks(Bench& bench) {
  PAWL_TRY_DO(measure_disk(bench));
  return measure_echo(bench);
}

}  // namespace pawl::bench
