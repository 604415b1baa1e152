// ServerParts: what a server has once, however many partitions it serves: settings, keys, routes,
// workers that have called, pools of threads. And the way of a request to its route: origin, host,
// key and scope are checked here, before its body is read.
//
// Thread: any, unless said otherwise.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actions/action.h"
#include "actions/vault.h"
#include "api/cors.h"
#include "api/keys.h"
#include "api/metrics.h"
#include "api/node_figures.h"
#include "api/reader_pool.h"
#include "api/router.h"
#include "api/workers.h"
#include "base/clock.h"
#include "base/work_pool.h"
#include "cluster/view.h"
#include "http/server.h"

namespace pawl {
class WorldHost;
}

namespace pawl::api {

struct AppConfig {
  std::string version;
  std::string store_name;  // "sqlite", "memory", "postgres"
  std::string server_id;   // of a server that is a cluster of its own, as what follows
  std::string node_name;
  std::string url;
  std::string data_dir;
  uint16_t partitions = 1;  // of the server, or of the cluster that it is a node of
  bool in_cluster = false;  // partitions come and go while it serves
  bool needs_key = false;   // while there is no key, every call is refused
  int64_t visibility_default_ms = 1'800'000;
  size_t batch_jobs_max = 100'000;
  size_t fetch_count_max = 1'000;
  int64_t fetch_wait_ms_max = 60'000;
  size_t result_bytes_max = 16u << 20;
  int64_t idempotency_ms = 24LL * 3600 * 1000;
  std::vector<std::string> action_names;  // that definitions may use
  bool webhooks_allow_private = false;    // deliver to loopback and private addresses too
  // While no key is needed, a Host that a stranger could own is refused: a stranger's page in a
  // browser on this machine must not control a server that trusts all users of the machine.
  bool local_names_only = false;
  std::vector<std::string> host_names;    // of this server, besides localhost
  std::vector<std::string> cors_origins;  // whose pages may call it: "https://app.example"
  // If one turn or commit of the engine takes longer, /ready reports it as stuck.
  int64_t stuck_after_ms = 5'000;
};

// The nodes that this server knows of. Both or none.
struct ClusterAccess {
  std::function<cluster::ClusterView()> view;
  // False: there is none of that name. Waits for the database.
  std::function<Result<bool>(const std::string& node, bool draining)> set_draining;
};

class ServerParts {
 public:
  ServerParts(const AppConfig& config, Clock& clock);

  // Route, origin, host, key and scope of a request, before its body is read: ServerConfig::judge.
  http::Verdict judge(http::Request& request);
  // The route that the judge found, or finds now; null: it was refused, with this answer.
  const Route* route_of(http::Request& request, std::optional<http::Response>& refusal);

  void begin_drain() { draining_ = true; }
  bool draining() const { return draining_; }

  const AppConfig& config() const { return config_; }
  Clock& clock() { return clock_; }
  KeyRing& keys() { return keys_; }
  WorkerRegistry& workers() { return workers_; }
  Metrics& metrics() { return metrics_; }
  const Router& router() const { return router_; }
  // The runner and vault for steps of definitions. Null if this server runs none. Before serving.
  void use_actions(actions::ActionRunner* actions, const actions::Vault* vault) {
    actions_ = actions;
    vault_ = vault;
  }
  actions::ActionRunner* actions() { return actions_; }
  const actions::Vault* vault() { return vault_; }
  // Without it this server is alone. Before serving.
  void use_cluster(ClusterAccess access) { cluster_ = std::move(access); }
  const ClusterAccess& cluster() const { return cluster_; }
  // Without it they are all 0. Before serving.
  void use_node_figures(std::function<NodeFigures()> figures) { figures_ = std::move(figures); }
  NodeFigures node_figures() const { return figures_ ? figures_() : NodeFigures{}; }
  // Keys are known where a partition is served. False: whoever decides a call checks its key; this
  // node only passes it on. Without it they are always known. Before serving.
  void use_knows_keys(std::function<bool()> knows) { knows_keys_ = std::move(knows); }
  bool knows_keys() const { return !knows_keys_ || knows_keys_(); }
  ReaderPool& readers() { return readers_; }
  // Compiles definitions, schemas and workflows: alternates between clients (by key, or by address
  // while no key is needed), few at a time, at low priority.
  WorkPool& checks() { return checks_; }
  // Handles calls with bodies of more than kHandledHereBytesMax: parsing one may take long.
  static constexpr size_t kHandledHereBytesMax = 1u << 20;
  WorkPool& large_calls() { return large_calls_; }
  // The HTTP server, set once it runs: its first call may arrive before. It outlives the engine's
  // thread.
  void set_http_server(const http::Server* server) { http_server_.store(server); }
  http::ServerStats http_stats() const {
    const http::Server* server = http_server_.load();
    return server != nullptr ? server->stats() : http::ServerStats{};
  }
  int64_t started_ms() const { return started_ms_; }

 private:
  Status allow(const http::Request& request, const Route& route, bool from_known_origin) const;
  Status check_key(const http::Request& request, const Route& route) const;

  const AppConfig config_;
  Clock& clock_;
  KeyRing keys_;
  WorkerRegistry workers_;
  Metrics metrics_;
  Router router_;
  CorsPolicy cors_;
  std::atomic<const http::Server*> http_server_{nullptr};
  std::atomic<bool> draining_{false};
  const int64_t started_ms_;
  actions::ActionRunner* actions_ = nullptr;
  const actions::Vault* vault_ = nullptr;
  ClusterAccess cluster_;
  std::function<NodeFigures()> figures_;
  std::function<bool()> knows_keys_;
  ReaderPool readers_;
  // Last members, so that they stop first: their work uses the others.
  WorkPool large_calls_{{.threads = 2,
                         .waiting_max = 1024,
                         .lane_running_max = 1,
                         .background = true,
                         .name = "large requests"}};
  WorkPool checks_{{.threads = 2,
                    .waiting_max = 256,
                    .lane_waiting_max = 32,
                    .lane_running_max = 1,
                    .background = true,
                    .name = "definitions"}};
};

}  // namespace pawl::api
