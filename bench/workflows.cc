// Work that makes more work: chains advance, batches call back; and what it costs that many wait.
#include <algorithm>
#include <filesystem>
#include <thread>

#include "failure.h"
#include "fsync_probe.h"
#include "measured_flow.h"
#include "reply_scan.h"
#include "requests.h"
#include "samples.h"
#include "workloads.h"

namespace pawl::bench {
namespace {

constexpr int kSteps = 10;
constexpr double kStepAllowanceMs = 0.3;
constexpr int kFsyncCount = 500;
constexpr auto kSettle = std::chrono::seconds(2);  // what the server still writes by itself

// The one job that the reply brings.
Result<std::string> only_job(const Reply& reply) {
  std::vector<ScannedJob> jobs;
  if (reply.status == 200 && scan_jobs(reply.body, jobs) && jobs.size() == 1 &&
      jobs[0].id.size() == kJobIdBytes)
    return std::string(jobs[0].id);
  return fail("expected one job:\n{}", excerpt(reply));
}

Status expect_status(const Reply& reply, int status) {
  if (reply.status == status) return ok_status();
  return fail("expected status {}:\n{}", status, excerpt(reply));
}

double mebibytes(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

Result<int64_t> rss_bytes(const ServerProcess& server) {
  std::this_thread::sleep_for(kSettle);
  PAWL_TRY(const ProcessStat stat, process_stat(server.pid()));
  return stat.rss_bytes;
}

int64_t disk_bytes(const std::string& directory) {
  int64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory))
    if (entry.is_regular_file()) bytes += static_cast<int64_t>(entry.file_size());
  return bytes;
}

}  // namespace

Status run_chains(Bench& bench) {
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
  constexpr int kJobs = 1000;
  const int64_t wanted = bench.options.batches;
  FlowPlan plan;
  plan.produce = batch_workflow_request(kJobs);
  plan.jobs_per_produce = kJobs + 1;  // and the callback
  plan.producers = 4;
  plan.produce_max = wanted;
  plan.workers = connections_or(bench.options, 64);
  plan.ack = AckMode::AndFetch;
  PAWL_TRY(const FreshServer server, FreshServer::start(bench.options));
  PAWL_TRY(const MeasuredFlow batches, measure_flow(*server.process, "batches", plan));
  if (batches.outcome.callbacks != wanted) {
    return fail("{} batches called back {} times", wanted, batches.outcome.callbacks);
  }
  bench.report.add_with_cpu_target(batches.row, 15'000);
  return ok_status();
}

// From the reply that brought the first step to the one that took the last: ten commits.
Status run_lone_chain(Bench& bench) {
  PAWL_TRY(const FreshServer server, FreshServer::start(bench.options));
  PAWL_TRY(FsyncFigures disk_before, probe_fsync(server.directory->path(), kFsyncCount));
  PAWL_TRY(Caller caller, Caller::connect(server.address()));
  const std::string create = chain_request(kSteps);
  const std::string fetch = fetch_request(1, 500);
  Template ack_and_fetch = ack_and_fetch_template(1, 500);
  Template ack = ack_template();
  PAWL_TRY(Meter meter, Meter::start(*server.process));
  Samples steps;
  Samples whole;
  const auto begin = Clock::now();
  auto last = begin;
  while (seconds_between(begin, last) < bench.options.seconds) {
    const auto created = Clock::now();
    PAWL_TRY(Reply reply, caller.call(create));
    PAWL_TRY_DO(expect_status(reply, 201));
    PAWL_TRY(reply, caller.call(fetch));
    const auto first = Clock::now();
    for (int step = 1; step < kSteps; ++step) {
      PAWL_TRY(const std::string job, only_job(reply));
      PAWL_TRY(reply, caller.call(ack_and_fetch.with(job)));
    }
    PAWL_TRY(const std::string job, only_job(reply));
    PAWL_TRY(reply, caller.call(ack.with(job)));
    PAWL_TRY_DO(expect_status(reply, 200));
    last = Clock::now();
    steps.add(last - first);
    whole.add(last - created);
  }
  Row row{
      "lone-chain", static_cast<int64_t>(steps.count()) * kSteps, seconds_between(begin, last), {}};
  PAWL_TRY(row.usage, meter.stop());
  bench.report.add(row);
  PAWL_TRY(FsyncFigures disk_after, probe_fsync(server.directory->path(), kFsyncCount));
  const double fsync_p50_ms =
      std::min(disk_before.latency.percentile_ms(0.50), disk_after.latency.percentile_ms(0.50));
  bench.report.add(Figure{"lone-chain.fdatasync_p50_ms", fsync_p50_ms});
  bench.report.add(
      Figure{"lone-chain.p50_ms", steps.percentile_ms(0.50),
             Target{Target::Side::AtMost, kSteps * (fsync_p50_ms + kStepAllowanceMs)}});
  bench.report.add(Figure{"lone-chain.p99_ms", steps.percentile_ms(0.99)});
  bench.report.add(Figure{"lone-chain.with_create_and_fetch_p50_ms", whole.percentile_ms(0.50)});
  return ok_status();
}

// Chains of two steps whose first step nobody takes, a thousand in one request.
Status run_at_rest(Bench& bench) {
  constexpr int kChains = 1000;
  PAWL_TRY(FreshServer server, FreshServer::start(bench.options));
  FlowPlan plan;
  plan.produce = chains_request(kChains, 2);
  plan.jobs_per_produce = kChains;
  plan.producers = 1;
  const int64_t requests = (bench.options.resting_workflows + kChains - 1) / kChains;
  plan.produce_max = std::max<int64_t>(requests / 10, 1);
  PAWL_TRY_DO(run_flow(server.address(), plan));
  PAWL_TRY(const int64_t tenth_bytes, rss_bytes(*server.process));
  plan.produce_max = std::max<int64_t>(requests - plan.produce_max, 1);
  PAWL_TRY(const MeasuredFlow filled, measure_flow(*server.process, "at-rest", plan));
  PAWL_TRY(const int64_t full_bytes, rss_bytes(*server.process));
  bench.report.add(filled.row);
  bench.report.add(Figure{"at-rest.rss_mib_at_a_tenth", mebibytes(tenth_bytes)});
  bench.report.add(Figure{"at-rest.rss_mib", mebibytes(full_bytes)});
  bench.report.add(Figure{
      "at-rest.rss_bytes_per_workflow_beyond_a_tenth",
      static_cast<double>(full_bytes - tenth_bytes) / static_cast<double>(filled.outcome.jobs),
      Target{Target::Side::AtMost, 600}});
  bench.report.add(Figure{"at-rest.disk_mib", mebibytes(disk_bytes(server.directory->path()))});
  server.process->kill_hard();
  PAWL_TRY(server.process, ServerProcess::start(bench.options.pawl, server.directory->path()));
  PAWL_TRY(Caller caller, Caller::connect(server.address()));
  PAWL_TRY(const Reply reply, caller.call(fetch_request(1, 0)));
  PAWL_TRY_DO(only_job(reply));
  const std::chrono::duration<double, std::milli> ready = server.process->time_to_ready();
  bench.report.add(Figure{"at-rest.restart_ready_ms", ready.count()});
  PAWL_TRY(const int64_t again_bytes, rss_bytes(*server.process));
  bench.report.add(Figure{"at-rest.rss_mib_after_restart", mebibytes(again_bytes)});
  return ok_status();
}

}  // namespace pawl::bench
