// What much data costs: memory, restarts, and speed beside it; and what none costs.
#include <thread>

#include "failure.h"
#include "measured_flow.h"
#include "reply_scan.h"
#include "requests.h"
#include "samples.h"
#include "workloads.h"

namespace pawl::bench {
namespace {

constexpr auto kSettle =
    std::chrono::seconds(1);  // what the server still writes or frees by itself
constexpr auto kIdleWatch = std::chrono::seconds(5);

double milliseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

Result<int64_t> settled_rss_bytes(const ServerProcess& server) {
  std::this_thread::sleep_for(kSettle);
  PAWL_TRY(const ProcessStat stat, process_stat(server.pid()));
  return stat.rss_bytes;
}

Status fetch_one(Caller& caller) {
  PAWL_TRY(const Reply reply, caller.call(fetch_request(1, 0)));
  std::vector<ScannedJob> jobs;
  if (reply.status == 200 && scan_jobs(reply.body, jobs) && jobs.size() == 1) return ok_status();
  return fail("the first fetch after the restart brought no job:\n{}", excerpt(reply));
}

// What was acknowledged before the kill must be there after it.
Status check_available(Caller& caller, int64_t jobs) {
  const std::string path = fmt::format("/ojs/v1/queues/{}/stats", kQueue);
  PAWL_TRY(const Reply reply, caller.call(get_request(path)));
  const std::string count = fmt::format("\"available\":{}", jobs);
  const bool told = contains(reply.body, count + ",") || contains(reply.body, count + "}");
  if (reply.status == 200 && told) return ok_status();
  return fail("{} jobs should be available after the restart:\n{}", jobs, excerpt(reply));
}

}  // namespace

Status run_restart(Bench& bench) {
  PAWL_TRY(FreshServer server, FreshServer::start(bench.options));
  PAWL_TRY(const MeasuredFlow load, measure_flow(*server.process, "restart-load",
                                                 queueing_plan(bench.options.restart_jobs)));
  bench.report.add(load.row);
  server.process->kill_hard();

  const auto begin = Clock::now();
  PAWL_TRY(server.process, ServerProcess::start(bench.options.pawl, server.directory->path()));
  PAWL_TRY(Caller caller, Caller::connect(server.address()));
  PAWL_TRY_DO(fetch_one(caller));
  const auto fetched = Clock::now();
  PAWL_TRY(const ProcessStat stat, process_stat(server.process->pid()));
  PAWL_TRY_DO(check_available(caller, load.outcome.jobs - 1));
  bench.report.add(Figure{"restart.ready_ms", milliseconds(server.process->time_to_ready())});
  bench.report.add(Figure{"restart.first_fetch_ms", milliseconds(fetched - begin)});
  bench.report.add(Figure{"restart.cpu_s", stat.cpu_seconds});
  bench.report.add(Figure{"restart.rss_mib", static_cast<double>(stat.rss_bytes) / (1 << 20)});
  bench.report.add(
      Figure{"restart.rss_peak_mib", static_cast<double>(stat.rss_peak_bytes) / (1 << 20)});
  return ok_status();
}

Status run_stored(Bench& bench) {
  PAWL_TRY(const FreshServer server, FreshServer::start(bench.options));
  FlowPlan timed = bulk_lifecycle_plan();
  timed.seconds = bench.options.seconds;
  FlowPlan fill = bulk_lifecycle_plan();
  fill.produce_max =
      (bench.options.stored_jobs + fill.jobs_per_produce - 1) / fill.jobs_per_produce;

  PAWL_TRY(const MeasuredFlow empty, measure_flow(*server.process, "stored-before", timed));
  PAWL_TRY(const MeasuredFlow filling, measure_flow(*server.process, "stored-filling", fill));
  PAWL_TRY(const MeasuredFlow full, measure_flow(*server.process, "stored-after", timed));
  bench.report.add(empty.row);
  bench.report.add(filling.row);
  bench.report.add(full.row);
  bench.report.add(Figure{"stored.rate_after_to_before",
                          full.row.jobs_per_second() / empty.row.jobs_per_second(),
                          Target{Target::Side::AtLeast, 0.9}});
  return ok_status();
}

Status run_queued_memory(Bench& bench) {
  constexpr int64_t kFirstJobs = 100'000;
  PAWL_TRY(const FreshServer server, FreshServer::start(bench.options));
  PAWL_TRY_DO(run_flow(server.address(), queueing_plan(kFirstJobs)));
  PAWL_TRY(const int64_t before_bytes, settled_rss_bytes(*server.process));
  PAWL_TRY(const MeasuredFlow queued, measure_flow(*server.process, "queued-memory",
                                                   queueing_plan(bench.options.queued_jobs)));
  PAWL_TRY(const int64_t after_bytes, settled_rss_bytes(*server.process));
  bench.report.add(queued.row);
  bench.report.add(Figure{
      "queued-memory.bytes_per_job",
      static_cast<double>(after_bytes - before_bytes) / static_cast<double>(queued.outcome.jobs),
      Target{Target::Side::AtMost, 600}});
  return ok_status();
}

Status run_idle(Bench& bench) {
  PAWL_TRY(const FreshServer server, FreshServer::start(bench.options));
  std::this_thread::sleep_for(kSettle);
  PAWL_TRY(const ProcessStat before, process_stat(server.process->pid()));
  const auto begin = Clock::now();
  std::this_thread::sleep_for(kIdleWatch);
  PAWL_TRY(const ProcessStat after, process_stat(server.process->pid()));
  const double percent =
      100 * (after.cpu_seconds - before.cpu_seconds) / seconds_between(begin, Clock::now());
  bench.report.add(Figure{"idle.cpu_percent", percent, Target{Target::Side::Below, 0.5}});
  bench.report.add(Figure{"idle.rss_mib", static_cast<double>(after.rss_bytes) / (1 << 20)});
  return ok_status();
}

}  // namespace pawl::bench
