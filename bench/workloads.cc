#include "workloads.h"

namespace pawl::bench {

std::span<const Workload> all_workloads() {
  static constexpr Workload kAll[] = {
      {"push", "single pushes, 64 connections", run_push},
      {"push-batch", "pushes of 100 jobs", run_push_batch},
      {"lifecycle", "single pushes, fetches of 10, one ack per job", run_lifecycle},
      {"lifecycle-bulk", "pushes of 100, fetches of 1000, bulk acks", run_lifecycle_bulk},
      {"single", "one job at a time: push, fetch, ack", run_single},
      {"rate", "a steady arrival rate, latency from due time to ack", run_rate},
      {"chains", "chains of 10 steps, ack and fetch in one call", run_chains},
      {"batches", "20 workflow batches of 1000 jobs with a callback", run_batches},
      {"lone-chain", "one chain of 10 steps at a time, one worker", run_lone_chain},
      {"at-rest", "RSS, disk and restart beside many workflows that wait", run_at_rest},
      {"definition-steps", "runs of 10 steps one behind the other", run_definition_steps},
      {"definition-fan-out", "runs of 10 steps side by side", run_definition_fan_out},
      {"lone-definition", "one run of 10 steps at a time", run_lone_definition},
      {"waiting-definitions", "RSS and CPU beside many runs that wait", run_waiting_definitions},
      {"long-loop", "a loop of 10,000 and of 100,000 iterations", run_long_loop},
      {"idle", "CPU of a server with nothing to do", run_idle},
      {"queued-memory", "RSS per queued job", run_queued_memory},
      {"cluster", "nodes over PostgreSQL against SQLite, and two against one", run_cluster},
      {"restart", "kill -9 with many queued jobs, time to serve again", run_restart},
      {"stored", "lifecycle-bulk before and after many finished jobs", run_stored},
  };
  return kAll;
}

}  // namespace pawl::bench
