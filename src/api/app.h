// App: everything an endpoint may use: one partition (engine, store, streams, worlds), and what the
// whole server shares (api/server_parts.h).
//
// Threads: what round_handler() gives on the I/O thread it is for; functions passed to decide() run
// on the engine thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/event_stream.h"
#include "api/server_parts.h"
#include "api/stats_history.h"
#include "api/turns.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "http/server.h"
#include "store/store.h"

namespace pawl {
class WorldHost;
struct NameAnswers;
struct NameClaim;
}  // namespace pawl

namespace pawl::api {

// A decision that may wait instead of being answered.
struct Waiting {
  bool forbidden = false;  // it must answer now
  std::optional<Parking> parking = {};
};

class App {
 public:
  // One of the partitions of a server.
  App(ServerParts& server, EngineLoop& engine, Store& store, Clock& clock);
  // The only one, with parts of its own.
  App(const AppConfig& config, EngineLoop& engine, Store& store, Clock& clock);
  ~App();

  // Reads the key ring into memory. Call once, before serving.
  void load();

  http::Verdict judge(http::Request& request) { return server_.judge(request); }
  // For one I/O thread: routes its requests, and hands what they ask of the engine over once per
  // round.
  http::RoundHandler round_handler();
  // Handles a request; what it asks of the engine joins the round.
  void handle(http::Request&& request, http::Responder responder, Round& round);

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
  // The same for calls that create what clients name: on a server with several partitions, names
  // that belong to others are claimed first, and the decision gets the answers; null if there was
  // nothing to claim. See api/claimed_names.h.
  using ClaimsOf = std::function<std::vector<NameClaim>(Frame&)>;
  using DecideClaiming = std::function<Reply(Frame&, Waiting& waiting, const NameAnswers* answers)>;
  void decide_claiming(Call&& call, ClaimsOf claims_of, DecideClaiming decide);
  // Hands a call to another partition, which has its answer, or what it names: it is decided there,
  // wherever it would be placed. Without it such calls fail with Conflict.
  using PassOn = std::function<void(Call&& call, uint16_t partition)>;
  void use_pass_on(PassOn pass_on) { pass_on_ = std::move(pass_on); }
  void pass_on(Call&& call, uint16_t partition);
  // The same for calls that lease jobs: given up if the client disconnects, since no job must be
  // leased to it.
  void decide_while_connected(Call&& call, DecideAndWait decide);
  // With the others of the round, or at once if there is none. What the engine has no room for is
  // refused.
  void submit(Round* round, TaskPtr task);

  // From the program's start to the end of serving.
  void begin_drain();  // also ends the event streams
  // Waits until no call of this partition is under way any more. Of one of several partitions;
  // after begin_drain(), when the engine has stopped and no request comes any more.
  void settle();
  // Of partition 0 of several: calls back when what it has changed by now is known in all. An
  // answer to a change of settings leaves then. Before it is served.
  using SettingsGate = std::function<void(std::function<void(Status)> done)>;
  void use_settings_gate(SettingsGate gate) { settings_gate_ = std::move(gate); }
  const SettingsGate& settings_gate() const { return settings_gate_; }
  // Whoever holds it keeps settle() waiting: for those who use one of several partitions. Any
  // thread.
  std::shared_ptr<void> ticket() const;
  bool draining() const { return draining_ || server_.draining(); }

  ServerParts& server() { return server_; }
  const AppConfig& config() const { return server_.config(); }
  EngineLoop& engine() { return engine_; }
  Store& store() { return store_; }
  Clock& clock() { return clock_; }
  KeyRing& keys() { return server_.keys(); }
  WorkerRegistry& workers() { return server_.workers(); }
  Metrics& metrics() { return server_.metrics(); }
  // A setting that partition 0 has decided was copied into this partition in this frame: keys,
  // maintenance mode and subscriptions follow. See courier/take_messages.h. Engine thread.
  void setting_copied(Frame& frame, DocKind kind, const std::string& key);
  // A decision is about to change the webhook subscriptions. Engine thread.
  void webhooks_change() {
    if (on_webhooks_change_) on_webhooks_change_();
  }
  void on_webhooks_change(std::function<void()> call) { on_webhooks_change_ = std::move(call); }
  void use_actions(actions::ActionRunner* actions, const actions::Vault* vault) {
    server_.use_actions(actions, vault);
  }
  actions::ActionRunner* actions() { return server_.actions(); }
  const actions::Vault* vault() { return server_.vault(); }
  const ClusterAccess& cluster() const { return server_.cluster(); }
  // Null if this server runs no worlds.
  void use_worlds(WorldHost* worlds) { worlds_ = worlds; }
  WorldHost* worlds() { return worlds_; }
  EventHub& events() { return events_; }
  ReaderPool& readers() { return server_.readers(); }
  WorkPool& checks() { return server_.checks(); }
  WorkPool& large_calls() { return server_.large_calls(); }
  Turns& turns() { return turns_; }
  StatsHistory& stats_history() { return stats_history_; }
  // While it is on, workers get no jobs. Any thread.
  bool in_maintenance() const { return maintenance_.load(std::memory_order_relaxed); }
  void set_maintenance(bool on) { maintenance_.store(on, std::memory_order_relaxed); }
  const Router& router() const { return server_.router(); }
  void set_http_server(const http::Server* server) { server_.set_http_server(server); }
  http::ServerStats http_stats() const { return server_.http_stats(); }
  int64_t started_ms() const { return server_.started_ms(); }

 private:
  class CallsUnderWay;
  App(std::unique_ptr<ServerParts> own, ServerParts* server, EngineLoop& engine, Store& store,
      Clock& clock);
  void handle_on_pool(WorkPool& pool, Call&& call);

  const std::unique_ptr<ServerParts> own_server_;  // null: it is one of several
  ServerParts& server_;
  EngineLoop& engine_;
  Store& store_;
  Clock& clock_;
  std::atomic<bool> draining_{false};
  std::function<void()> on_webhooks_change_;
  PassOn pass_on_;
  SettingsGate settings_gate_;
  WorldHost* worlds_ = nullptr;
  EventHub events_;
  Turns turns_;
  std::atomic<bool> maintenance_{false};
  StatsHistory stats_history_;
  std::unique_ptr<CallsUnderWay> calls_;  // null: the only partition outlives its calls
};

}  // namespace pawl::api
