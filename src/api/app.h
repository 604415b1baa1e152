// App: everything an endpoint may use, and the path from a request to its handler: route, key,
// scope, tenant.
//
// Threads: what round_handler() gives on the I/O thread it is for; functions passed to decide() run
// on the engine thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actions/action.h"
#include "actions/vault.h"
#include "api/cors.h"
#include "api/event_stream.h"
#include "api/keys.h"
#include "api/metrics.h"
#include "api/reader_pool.h"
#include "api/router.h"
#include "api/stats_history.h"
#include "api/turns.h"
#include "api/workers.h"
#include "base/clock.h"
#include "base/work_pool.h"
#include "cluster/view.h"
#include "engine/engine.h"
#include "http/server.h"
#include "store/store.h"

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

// A decision that may wait instead of being answered.
struct Waiting {
  bool forbidden = false;  // it must answer now
  std::optional<Parking> parking = {};
};

// The nodes that this server knows of. Both or none.
struct ClusterAccess {
  std::function<cluster::ClusterView()> view;
  // False: there is none of that name. Waits for the database.
  std::function<Result<bool>(const std::string& node, bool draining)> set_draining;
};

class App {
 public:
  App(const AppConfig& config, EngineLoop& engine, Store& store, Clock& clock);

  // Reads the key ring into memory. Call once, before serving.
  void load();

  // Route, origin, host, key and scope of a request, before its body is read: ServerConfig::judge.
  http::Verdict judge(http::Request& request);
  // For one I/O thread: routes its requests, and hands what they ask of the engine over once per
  // round.
  http::RoundHandler round_handler();

  // Decides on the engine thread and answers when durable. Decide: Reply(Frame&).
  // Honours Idempotency-Key on calls that write.
  using Decide = std::function<Reply(Frame&)>;
  void decide(Call&& call, Decide decide);
  // The same for calls that read much: only a few are in the engine at a time (Turns).
  void decide_list(Call&& call, Decide decide);
  // The same for calls whose answer must not be kept: no Idempotency-Key repeats them. on_done is
  // called when a success is durable, before the answer. Any thread.
  void decide_unkept(Call&& call, Decide decide, std::function<void()> on_done);
  // The same for calls that may wait: as long as it sets waiting.parking, it is called again when
  // that event has happened, and the last answer counts. See call_task.h for Idempotency-Key.
  using DecideAndWait = std::function<Reply(Frame&, Waiting& waiting)>;
  void decide_and_wait(Call&& call, DecideAndWait decide);
  // The same for calls that lease jobs: given up if the client disconnects, since no job must be
  // leased to it.
  void decide_while_connected(Call&& call, DecideAndWait decide);
  // With the others of the round, or at once if there is none. What the engine has no room for is
  // refused.
  void submit(Round* round, TaskPtr task);

  // From the program's start to the end of serving.
  void begin_drain();  // also ends the event streams
  bool draining() const { return draining_; }

  const AppConfig& config() const { return config_; }
  EngineLoop& engine() { return engine_; }
  Store& store() { return store_; }
  Clock& clock() { return clock_; }
  KeyRing& keys() { return keys_; }
  WorkerRegistry& workers() { return workers_; }
  Metrics& metrics() { return metrics_; }
  // A decision is about to change the webhook subscriptions. Engine thread.
  void webhooks_change() {
    if (on_webhooks_change_) on_webhooks_change_();
  }
  void on_webhooks_change(std::function<void()> call) { on_webhooks_change_ = std::move(call); }
  // The runner and vault for steps of definitions. Null if this server runs none.
  void use_actions(actions::ActionRunner* actions, const actions::Vault* vault) {
    actions_ = actions;
    vault_ = vault;
  }
  actions::ActionRunner* actions() { return actions_; }
  const actions::Vault* vault() { return vault_; }
  // Without it this server is alone.
  void use_cluster(ClusterAccess access) { cluster_ = std::move(access); }
  const ClusterAccess& cluster() const { return cluster_; }
  // Null if this server runs no worlds.
  void use_worlds(WorldHost* worlds) { worlds_ = worlds; }
  WorldHost* worlds() { return worlds_; }
  EventHub& events() { return events_; }
  ReaderPool& readers() { return readers_; }
  // Compiles definitions, schemas and workflows: alternates between clients (by key, or by address
  // while no key is needed), few at a time, at low priority.
  WorkPool& checks() { return checks_; }
  // Handles calls with bodies of more than kHandledHereBytesMax: parsing one may take long.
  static constexpr size_t kHandledHereBytesMax = 1u << 20;
  WorkPool& large_calls() { return large_calls_; }
  Turns& turns() { return turns_; }
  StatsHistory& stats_history() { return stats_history_; }
  // While it is on, workers get no jobs. Any thread.
  bool in_maintenance() const { return maintenance_.load(std::memory_order_relaxed); }
  void set_maintenance(bool on) { maintenance_.store(on, std::memory_order_relaxed); }
  const Router& router() const { return router_; }
  // The HTTP server, set once it runs: its first call may arrive before. It outlives the engine's
  // thread. Any thread.
  void set_http_server(const http::Server* server) { http_server_.store(server); }
  http::ServerStats http_stats() const {
    const http::Server* server = http_server_.load();
    return server != nullptr ? server->stats() : http::ServerStats{};
  }
  int64_t started_ms() const { return started_ms_; }

 private:
  Status allow(const http::Request& request, const Route& route, bool from_known_origin) const;
  void handle(http::Request&& request, http::Responder responder, Round& round);
  void handle_on_pool(WorkPool& pool, Call&& call);

  AppConfig config_;
  EngineLoop& engine_;
  Store& store_;
  Clock& clock_;
  KeyRing keys_;
  WorkerRegistry workers_;
  Metrics metrics_;
  Router router_;
  CorsPolicy cors_;
  std::atomic<const http::Server*> http_server_{nullptr};
  std::atomic<bool> draining_{false};
  int64_t started_ms_;
  std::function<void()> on_webhooks_change_;
  actions::ActionRunner* actions_ = nullptr;
  const actions::Vault* vault_ = nullptr;
  WorldHost* worlds_ = nullptr;
  ClusterAccess cluster_;
  EventHub events_;
  ReaderPool readers_;
  Turns turns_;
  std::atomic<bool> maintenance_{false};
  StatsHistory stats_history_;
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
