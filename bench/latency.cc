// How long one job takes: alone, and in a steady stream.
#include <algorithm>

#include "failure.h"
#include "fsync_probe.h"
#include "measured_flow.h"
#include "open_loop.h"
#include "reply_scan.h"
#include "requests.h"
#include "samples.h"
#include "workloads.h"

namespace pawl::bench {
namespace {

constexpr double kSingleAllowanceMs = 0.3;
constexpr int kFsyncCount = 500;

Status expect_status(const Reply& reply, int status) {
  if (reply.status == status) return ok_status();
  return fail("expected status {}:\n{}", status, excerpt(reply));
}

// Push, fetch, ack, each after the reply to the one before.
Status one_job(Caller& caller, const std::string& push, const std::string& fetch, Template& ack) {
  PAWL_TRY(const Reply pushed, caller.call(push));
  PAWL_TRY_DO(expect_status(pushed, 201));
  PAWL_TRY(const Reply fetched, caller.call(fetch));
  PAWL_TRY_DO(expect_status(fetched, 200));
  std::vector<ScannedJob> jobs;
  if (!scan_jobs(fetched.body, jobs) || jobs.size() != 1 || jobs[0].id.size() != kJobIdBytes) {
    return fail("the fetch did not bring the one job:\n{}", excerpt(fetched));
  }
  PAWL_TRY(const Reply acked, caller.call(ack.with(jobs[0].id)));
  return expect_status(acked, 200);
}

void add_percentiles(Report& report, const std::string& name, Samples& latency) {
  report.add(Figure{name + ".p50_ms", latency.percentile_ms(0.50)});
  report.add(Figure{name + ".p90_ms", latency.percentile_ms(0.90)});
  report.add(Figure{name + ".p99_ms", latency.percentile_ms(0.99)});
  report.add(Figure{name + ".p99.9_ms", latency.percentile_ms(0.999)});
  report.add(Figure{name + ".max_ms", latency.percentile_ms(1)});
}

}  // namespace

Status run_single(Bench& bench) {
  PAWL_TRY(const FreshServer server, FreshServer::start(bench.options));
  // The bound needs the disk as it is now; the run's first probe may be minutes old.
  PAWL_TRY(FsyncFigures disk_before, probe_fsync(server.directory->path(), kFsyncCount));
  PAWL_TRY(Caller caller, Caller::connect(server.address()));
  const std::string push = push_request();
  const std::string fetch = fetch_request(1, 500);
  Template ack = ack_template();
  PAWL_TRY(Meter meter, Meter::start(*server.process));
  Samples latency;
  const auto begin = Clock::now();
  auto last = begin;
  while (seconds_between(begin, last) < bench.options.seconds) {
    PAWL_TRY_DO(one_job(caller, push, fetch, ack));
    const auto now = Clock::now();
    latency.add(now - last);
    last = now;
  }
  Row row{"single", static_cast<int64_t>(latency.count()), seconds_between(begin, last), {}};
  PAWL_TRY(row.usage, meter.stop());
  bench.report.add(row);
  PAWL_TRY(FsyncFigures disk_after, probe_fsync(server.directory->path(), kFsyncCount));
  const double fsync_p50_ms =
      std::min(disk_before.latency.percentile_ms(0.50), disk_after.latency.percentile_ms(0.50));
  const double bound_ms = 3 * fsync_p50_ms + kSingleAllowanceMs;
  bench.report.add(
      Figure{"single.p50_ms", latency.percentile_ms(0.50), Target{Target::Side::AtMost, bound_ms}});
  bench.report.add(Figure{"single.p99_ms", latency.percentile_ms(0.99)});
  return ok_status();
}

Status run_rate(Bench& bench) {
  PAWL_TRY(const FreshServer server, FreshServer::start(bench.options));
  OpenLoopPlan plan;
  plan.jobs_per_second = bench.options.rate_jobs_per_second;
  plan.seconds = bench.options.seconds;
  plan.producers = connections_or(bench.options, plan.producers);
  plan.workers = connections_or(bench.options, plan.workers);
  PAWL_TRY(Meter meter, Meter::start(*server.process));
  PAWL_TRY(OpenLoopOutcome outcome, run_open_loop(server.address(), plan));
  Row row{"rate", outcome.jobs, outcome.seconds, {}};
  PAWL_TRY(row.usage, meter.stop());
  bench.report.add(row);
  add_percentiles(bench.report, "rate", outcome.latency);
  return ok_status();
}

}  // namespace pawl::bench
