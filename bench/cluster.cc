// Nodes over PostgreSQL: what they cost against SQLite, and two of them against one. All figures
// are ratios of the same run; PostgreSQL's own CPU is counted beside.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "failure.h"
#include "measured_flow.h"
#include "postgres_process.h"
#include "process_stat.h"
#include "reply_scan.h"
#include "requests.h"
#include "samples.h"
#include "workloads.h"

namespace pawl::bench {
namespace {

constexpr auto kShares = std::chrono::seconds(20);  // until two nodes have equal shares
constexpr auto kSharesPoll = std::chrono::milliseconds(100);
constexpr auto kIdleFor = std::chrono::seconds(10);
constexpr int kLatencyCalls = 3000;
constexpr int kPartitions = 8;

using Servers = std::vector<std::unique_ptr<ServerProcess>>;

struct Cost {
  double jobs_per_second = 0;
  double server_us = 0;    // CPU for a job
  double database_us = 0;  // the same of PostgreSQL
};

class ClusterRun {
 public:
  explicit ClusterRun(Bench& bench) : bench_(bench) {}
  Status run();

 private:
  Result<Servers> sqlite(int partitions);
  Result<Servers> nodes(int count, int partitions);
  Result<Cost> measure(const std::string& name, const Servers& servers, const FlowPlan& plan);
  Result<Cost> measure_sqlite(const std::string& name, int partitions, const FlowPlan& plan);
  Result<Cost> measure_nodes(const std::string& name, int count, int partitions,
                             const FlowPlan& plan);
  Status wait_for_shares(const Servers& servers) const;
  Status one_against_sqlite();
  Status two_against_one();
  Status two_partitions_of_sqlite();
  Status passed_on(const Servers& servers);
  Status idle();
  void add(const std::string& name, double value, std::optional<Target> target = {}) {
    bench_.report.add(Figure{"cluster." + name, value, target});
  }
  FlowPlan pushes() const;
  FlowPlan lifecycles() const;

  Bench& bench_;
  std::unique_ptr<ScratchDir> directory_;
  std::unique_ptr<PostgresProcess> postgres_;
  std::string key_;
  int made_ = 0;
};

constexpr Target at_least(double bound) { return {Target::Side::AtLeast, bound}; }
constexpr Target at_most(double bound) { return {Target::Side::AtMost, bound}; }

FlowPlan ClusterRun::pushes() const {
  FlowPlan plan;
  plan.produce = push_request();
  plan.producers = connections_or(bench_.options, 64);
  plan.seconds = bench_.options.seconds;
  return plan;
}

FlowPlan ClusterRun::lifecycles() const {
  FlowPlan plan = pushes();
  plan.producers = connections_or(bench_.options, 32);
  plan.outstanding_max = 5'000;
  plan.workers = connections_or(bench_.options, 64);
  plan.ack = AckMode::Each;
  plan.fetch_count = 10;
  return plan;
}

Result<Servers> ClusterRun::sqlite(int partitions) {
  Servers servers(1);
  const std::string where = fmt::format("{}/sqlite{}", directory_->path(), ++made_);
  if (mkdir(where.c_str(), 0755) != 0) return fail_errno("mkdir " + where);
  std::vector<std::string> flags;
  if (partitions > 1) flags = {"--partitions", std::to_string(partitions)};
  PAWL_TRY(servers[0], ServerProcess::start(bench_.options.pawl, where, flags));
  return servers;
}

Result<Servers> ClusterRun::nodes(int count, int partitions) {
  PAWL_TRY(const std::string url, postgres_->create_database(fmt::format("bench{}", ++made_)));
  Servers servers;
  for (int i = 0; i < count; ++i) {
    const std::string where = fmt::format("{}/node{}-{}", directory_->path(), made_, i);
    if (mkdir(where.c_str(), 0755) != 0) return fail_errno("mkdir " + where);
    PAWL_TRY(auto server, ServerProcess::start(
                              bench_.options.pawl, where,
                              {"--store", url, "--cluster-key", key_, "--node",
                               fmt::format("n{}", i), "--partitions", std::to_string(partitions)}));
    servers.push_back(std::move(server));
  }
  PAWL_TRY_DO(wait_for_shares(servers));
  return servers;
}

// Until every node serves its share, as each of them tells.
Status ClusterRun::wait_for_shares(const Servers& servers) const {
  const auto until = Clock::now() + kShares;
  while (Clock::now() < until) {
    bool shared = true;
    for (const auto& server : servers) {
      PAWL_TRY(Caller caller, Caller::connect(server->address()));
      PAWL_TRY(const Reply reply, caller.call(get_request("/v1/cluster")));
      size_t serving = 0;
      for (size_t at = 0; (at = reply.body.find("\"state\":\"serving\"", at)) != std::string::npos;
           ++at)
        ++serving;
      shared = shared && serving > 0 && reply.body.find("\"partitions\":[]") == std::string::npos &&
               reply.body.find("\"owner\":null") == std::string::npos &&
               reply.body.find("\"state\":\"recovering\"") == std::string::npos;
    }
    if (shared) return ok_status();
    std::this_thread::sleep_for(kSharesPoll);
  }
  return fail("not every node got its share of the partitions");
}

Result<Cost> ClusterRun::measure(const std::string& name, const Servers& servers,
                                 const FlowPlan& plan) {
  std::vector<Address> addresses;
  for (const auto& server : servers) addresses.push_back(server->address());
  const auto cpu = [&]() -> Result<double> {
    double sum = 0;
    for (const auto& server : servers) {
      PAWL_TRY(const ProcessStat stat, process_stat(server->pid()));
      sum += stat.cpu_seconds;
    }
    return sum;
  };
  PAWL_TRY(const double server_before, cpu());
  PAWL_TRY(const double database_before, postgres_->cpu_seconds());
  PAWL_TRY(const FlowOutcome outcome, run_flow(addresses, plan));
  PAWL_TRY(const double server_after, cpu());
  PAWL_TRY(const double database_after, postgres_->cpu_seconds());
  const auto jobs = static_cast<double>(std::max<int64_t>(outcome.jobs, 1));
  const Cost cost{jobs / outcome.seconds, 1e6 * (server_after - server_before) / jobs,
                  1e6 * (database_after - database_before) / jobs};
  add(name + ".jobs_per_s", cost.jobs_per_second);
  add(name + ".server_cpu_us", cost.server_us);
  add(name + ".database_cpu_us", cost.database_us);
  return cost;
}

Result<Cost> ClusterRun::measure_sqlite(const std::string& name, int partitions,
                                        const FlowPlan& plan) {
  PAWL_TRY(const Servers servers, sqlite(partitions));
  return measure(name, servers, plan);
}

Result<Cost> ClusterRun::measure_nodes(const std::string& name, int count, int partitions,
                                       const FlowPlan& plan) {
  PAWL_TRY(const Servers servers, nodes(count, partitions));
  return measure(name, servers, plan);
}

Status ClusterRun::one_against_sqlite() {
  PAWL_TRY(const Cost push, measure_sqlite("push.sqlite", 1, pushes()));
  PAWL_TRY(const Cost push_node, measure_nodes("push.one_node", 1, 1, pushes()));
  PAWL_TRY(const Cost life, measure_sqlite("lifecycle.sqlite", 1, lifecycles()));
  PAWL_TRY(const Cost life_node, measure_nodes("lifecycle.one_node", 1, 1, lifecycles()));
  add("push.node_to_sqlite", push_node.jobs_per_second / push.jobs_per_second, at_least(0.6));
  add("push.cpu_node_to_sqlite", push_node.server_us / push.server_us, at_most(1.3));
  add("lifecycle.node_to_sqlite", life_node.jobs_per_second / life.jobs_per_second, at_least(0.6));
  return ok_status();
}

Status ClusterRun::two_against_one() {
  PAWL_TRY(const Cost push, measure_nodes("push.one_of_8", 1, kPartitions, pushes()));
  PAWL_TRY(const Cost life, measure_nodes("lifecycle.one_of_8", 1, kPartitions, lifecycles()));
  PAWL_TRY(const Cost push_two, measure_nodes("push.two_nodes", 2, kPartitions, pushes()));
  PAWL_TRY(const Servers two, nodes(2, kPartitions));
  PAWL_TRY_DO(passed_on(two));
  PAWL_TRY(const Cost life_two, measure("lifecycle.two_nodes", two, lifecycles()));
  add("push.two_to_one", push_two.jobs_per_second / push.jobs_per_second, at_least(0.75));
  add("lifecycle.two_to_one", life_two.jobs_per_second / life.jobs_per_second, at_least(0.75));
  return ok_status();
}

Status ClusterRun::two_partitions_of_sqlite() {
  PAWL_TRY(const Cost push, measure_sqlite("push.sqlite_1", 1, pushes()));
  PAWL_TRY(const Cost push_two, measure_sqlite("push.sqlite_2", 2, pushes()));
  PAWL_TRY(const Cost life, measure_sqlite("lifecycle.sqlite_1", 1, lifecycles()));
  PAWL_TRY(const Cost life_two, measure_sqlite("lifecycle.sqlite_2", 2, lifecycles()));
  const bool four = std::thread::hardware_concurrency() >= 4;
  add("push.sqlite_2_to_1", push_two.jobs_per_second / push.jobs_per_second,
      at_least(four ? 1.5 : 0.95));
  add("lifecycle.sqlite_2_to_1", life_two.jobs_per_second / life.jobs_per_second,
      at_least(four ? 1.5 : 0.95));
  return ok_status();
}

// The same reads through the node that serves the partition, and through the other one.
Status ClusterRun::passed_on(const Servers& servers) {
  PAWL_TRY(Caller one, Caller::connect(servers[0]->address()));
  PAWL_TRY(Caller two, Caller::connect(servers[1]->address()));
  PAWL_TRY(const Reply made, one.call(push_request()));
  const size_t id = made.body.find("\"id\":\"");
  if (made.status != 201 || id == std::string::npos) return fail("not pushed:\n{}", excerpt(made));
  const std::string get =
      get_request("/ojs/v1/jobs/" + std::string(made.body.substr(id + 6, kJobIdBytes)));
  Samples through[2];
  Caller* const callers[2] = {&one, &two};
  for (int i = 0; i < 2 * kLatencyCalls; ++i) {
    const auto begin = Clock::now();
    PAWL_TRY(const Reply reply, callers[i % 2]->call(get));
    if (reply.status != 200) return fail("not read:\n{}", excerpt(reply));
    through[i % 2].add(Clock::now() - begin);
  }
  const double p50[2] = {through[0].percentile_ms(0.5), through[1].percentile_ms(0.5)};
  add("read.local_p50_ms", std::min(p50[0], p50[1]));
  add("read.passed_on_p50_ms", std::max(p50[0], p50[1]));
  add("read.passing_on_ms", std::max(p50[0], p50[1]) - std::min(p50[0], p50[1]), at_most(0.3));
  // The job must not stay: a flow counts what it finds.
  PAWL_TRY(const Reply fetched, one.call(fetch_request(1, 0)));
  std::vector<ScannedJob> jobs;
  if (!scan_jobs(fetched.body, jobs) || jobs.size() != 1)
    return fail("the job is not fetched:\n{}", excerpt(fetched));
  Template ack = ack_template();
  PAWL_TRY(const Reply acked, two.call(ack.with(jobs[0].id)));
  return acked.status == 200 ? ok_status() : fail("not acked:\n{}", excerpt(acked));
}

Status ClusterRun::idle() {
  PAWL_TRY(const Servers servers, nodes(1, 16));
  const std::string count = fmt::format(
      "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = 'bench{}'", made_);
  const auto transactions = [&]() -> Result<double> {
    PAWL_TRY(const std::string text, postgres_->ask(count));
    return std::strtod(text.c_str(), nullptr);
  };
  std::this_thread::sleep_for(std::chrono::seconds(3));
  PAWL_TRY(const ProcessStat before, process_stat(servers[0]->pid()));
  PAWL_TRY(const double database_before, postgres_->cpu_seconds());
  PAWL_TRY(const double queries_before, transactions());
  const auto begin = Clock::now();
  std::this_thread::sleep_for(kIdleFor);
  PAWL_TRY(const ProcessStat after, process_stat(servers[0]->pid()));
  PAWL_TRY(const double database_after, postgres_->cpu_seconds());
  PAWL_TRY(const double queries_after, transactions());
  const double seconds = seconds_between(begin, Clock::now());
  add("idle.cpu_percent", 100 * (after.cpu_seconds - before.cpu_seconds) / seconds,
      Target{Target::Side::Below, 0.5});
  add("idle.database_cpu_percent", 100 * (database_after - database_before) / seconds);
  add("idle.queries_per_s", (queries_after - queries_before) / seconds,
      Target{Target::Side::Below, 5});
  return ok_status();
}

Status ClusterRun::run() {
  PAWL_TRY(directory_, ScratchDir::create(bench_.options.data_root));
  // PostgreSQL's user, where that is another one, must get there.
  if (chmod(directory_->path().c_str(), 0711) != 0) return fail_errno("chmod");
  key_ = directory_->path() + "/cluster.key";
  std::ofstream(key_) << std::string(32, 'k');
  if (chmod(key_.c_str(), 0600) != 0) return fail_errno("chmod");
  auto postgres = PostgresProcess::start(bench_.options.postgres, directory_->path() + "/pg");
  const auto& asked = bench_.options.workloads;
  if (!postgres.ok() && std::find(asked.begin(), asked.end(), "cluster") == asked.end()) {
    fprintf(stderr, "cluster is left out: %s\n", postgres.error().message.c_str());
    return ok_status();
  }
  PAWL_TRY(postgres_, std::move(postgres));
  PAWL_TRY_DO(one_against_sqlite());
  PAWL_TRY_DO(two_against_one());
  PAWL_TRY_DO(two_partitions_of_sqlite());
  return idle();
}

}  // namespace

Status run_cluster(Bench& bench) { return ClusterRun(bench).run(); }

}  // namespace pawl::bench
