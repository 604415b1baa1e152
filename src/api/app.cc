#include "api/app.h"

#include <exception>
#include <future>

#include "api/call_task.h"
#include "api/host_name.h"
#include "api/maintenance.h"
#include "api/part_call.h"
#include "api/routes.h"
#include "base/log.h"
#include "effects/webhook.h"
#include "engine/waiting_task.h"
#include "kernel/frame.h"
#include "kernel/settings/doc.h"
#include "kernel/state.h"
#include "worldhost/world_host.h"

namespace pawl::api {
namespace {

// Reads the state, not the store: a key created just before a crash is in the journal, but may have
// no row yet.
class ReadKeys : public Task {
 public:
  std::future<std::vector<ApiKey>> keys() { return answer_.get_future(); }
  bool closed() const { return closed_; }  // valid once the keys are read

  std::optional<Parking> decide(Frame& frame, bool) override {
    each_stored_key(frame.state(), [&](const ApiKey& key) { found_.push_back(key); });
    closed_ = is_closed_by_keys(frame.state());
    return std::nullopt;
  }
  void durable(Wakes&) override { answer_.set_value(std::move(found_)); }
  void refuse(const Error&) override { answer_.set_value({}); }

 private:
  std::vector<ApiKey> found_;
  bool closed_ = false;
  std::promise<std::vector<ApiKey>> answer_;
};

// Whether the value of "definition" is more than the name of a stored definition.
bool gives_definition(std::string_view body) {
  constexpr std::string_view kMember = "\"definition\"";
  for (size_t at = body.find(kMember); at != body.npos; at = body.find(kMember, at + 1)) {
    size_t value = body.find_first_not_of(" \t\r\n:", at + kMember.size());
    if (value == body.npos || body[value] != '"') return true;
  }
  return false;
}

// Whether a body may hold something to compile. Escapes could hide the words, so they count too; a
// body that is not JSON always counts.
bool may_compile(const Call& call) {
  if (call.route->compiles != Compiles::Sometimes) return call.route->compiles == Compiles::Always;
  constexpr size_t kLookedThroughMax = 4096;
  std::string_view body = call.request.body;
  if (body.size() > kLookedThroughMax || body.substr(0, 1) != "{") return true;
  for (std::string_view hint : {"\"when\"", "\"over\"", "\"map\"", "\\"})
    if (body.find(hint) != body.npos) return true;
  return gives_definition(body);
}

CallTask::Order order_of(App::Decide decide) {
  return {[decide = std::move(decide)](Frame& frame, Waiting&) { return decide(frame); }};
}

void submit_call(App& app, Call&& call, CallTask::Order order) {
  Round* round = call.leave_round();
  app.submit(round, std::make_shared<CallTask>(app, std::move(call), std::move(order)));
}

std::string_view without_port(std::string_view peer) { return peer.substr(0, peer.rfind(':')); }

}  // namespace

// Told when the last call of an App is over.
class App::CallsUnderWay {
 public:
  CallsUnderWay() : ticket_(this, [](CallsUnderWay* calls) { calls->end(); }) {}

  std::shared_ptr<void> ticket() const { return ticket_; }
  void wait_for_end() {
    ticket_.reset();
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return over_; });
  }

 private:
  void end() {
    std::lock_guard lock(mutex_);
    over_ = true;
    ended_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;  // guarded by mutex_
  std::shared_ptr<CallsUnderWay> ticket_;
};

App::App(std::unique_ptr<ServerParts> own, ServerParts* server, EngineLoop& engine, Store& store,
         Clock& clock)
    : own_server_(std::move(own)),
      server_(server != nullptr ? *server : *own_server_),
      engine_(engine),
      store_(store),
      clock_(clock),
      events_(engine, store),
      turns_(engine) {
  if (server_.config().in_cluster) calls_ = std::make_unique<CallsUnderWay>();
}

App::App(ServerParts& server, EngineLoop& engine, Store& store, Clock& clock)
    : App(nullptr, &server, engine, store, clock) {}

App::App(const AppConfig& config, EngineLoop& engine, Store& store, Clock& clock)
    : App(std::make_unique<ServerParts>(config, clock), nullptr, engine, store, clock) {}

App::~App() = default;

void App::load() {
  auto reading = std::make_shared<ReadKeys>();
  std::future<std::vector<ApiKey>> keys = reading->keys();
  if (!engine_.submit(reading).ok()) return;
  for (const ApiKey& key : keys.get()) server_.keys().put(key);
  if (reading->closed()) server_.keys().close();
  auto sample = [this, samples = uint64_t{0}]() mutable {
    // It reads, and changes are known by themselves: partitions look as often as one alone.
    const bool look_again = samples++ % server_.config().partitions == 0;
    auto look = [this, look_again](const Frame& frame) {
      if (look_again) set_maintenance(is_in_maintenance(frame.state()));
      stats_history_.sample(frame.state(), frame.now_ms());
    };
    // On failure there is only a gap in the history.
    (void)run_on_engine(engine_, look, true).ok();
  };
  sample();
  stats_history_.start(sample);
}

void App::setting_copied(Frame& frame, DocKind kind, const std::string& key) {
  const Doc* doc = frame.state().find_doc(kind, key);
  if (kind == DocKind::Maintenance) {
    set_maintenance(is_in_maintenance(frame.state()));
  } else if (kind == DocKind::Webhook) {
    keep_webhook_cursor(frame, key);
    webhooks_change();
  } else if (kind == DocKind::ApiKey) {
    if (doc == nullptr) return keys().remove(key);
    if (auto stored = stored_key(*doc)) {
      keys().put(*stored);
    } else {
      keys().close();
    }
  }
}

http::RoundHandler App::round_handler() {
  auto round = std::make_shared<Round>();
  return {.handle =
              [this, round](http::Request&& request, http::Responder responder) {
                handle(std::move(request), std::move(responder), *round);
              },
          .end_round = [this, round] { engine_.submit(*round); }};
}

void App::handle(http::Request&& request, http::Responder responder, Round& round) {
  std::optional<http::Response> refusal;
  const Route* route = server_.route_of(request, refusal);
  if (route == nullptr) return responder.respond(std::move(*refusal));
  Call call{std::move(request), std::move(responder)};
  call.route = route;
  if (calls_) call.under_way = calls_->ticket();
  if (call.route->pattern.find('{') != std::string_view::npos) {
    std::string others;
    router().find(call.request.method, call.request.path, call.params, others);
  }
  call.tenant = call.request.header("x-ojs-tenant");
  if (may_compile(call)) return handle_on_pool(checks(), std::move(call));
  if (call.request.body.size() > ServerParts::kHandledHereBytesMax)
    return handle_on_pool(large_calls(), std::move(call));
  call.round = &round;
  // An exception from a library (no memory) fails only this request: the responder is destroyed
  // with the call and sends a 500.
  try {
    call.route->handler(*this, std::move(call));
  } catch (const std::exception& thrown) {
    log::error("a request failed inside the server", {{"why", thrown.what()}});
  }
}

void App::handle_on_pool(WorkPool& pool, Call&& call) {
  // Without keys a client could use a new name each time; with a key it could vary the spelling of
  // the header.
  std::string lane(keys().needed() ? key_of(call.request.header("authorization"))
                                   : without_port(call.request.peer));
  auto shared = std::make_shared<Call>(std::move(call));
  std::function<void()> work = [this, shared] {
    const Route* route = shared->route;
    route->handler(*this, std::move(*shared));
  };
  if (Status taken = pool.run(work, lane); !taken.ok()) shared->fail(taken.error());
}

void App::begin_drain() {
  draining_ = true;
  if (worlds_ != nullptr) worlds_->end_waits();
  stats_history_.stop();
  events_.stop();
}

std::shared_ptr<void> App::ticket() const { return calls_ ? calls_->ticket() : nullptr; }

void App::settle() {
  if (calls_) calls_->wait_for_end();
}

void App::decide(Call&& call, Decide decide) {
  submit_call(*this, std::move(call), order_of(std::move(decide)));
}

void App::decide_unkept(Call&& call, Decide decide, std::function<void()> on_done) {
  CallTask::Order order = order_of(std::move(decide));
  order.kept = false;
  order.on_done = std::move(on_done);
  submit_call(*this, std::move(call), std::move(order));
}

void App::decide_list(Call&& call, Decide decide) {
  CallTask::Order order = order_of(std::move(decide));
  order.on_ended = [this] { turns_.leave(); };
  Round* round = call.leave_round();
  auto task = std::make_shared<CallTask>(*this, std::move(call), std::move(order));
  const auto turn_away = [raw = task.get()](const Error& error) { raw->turn_away(error); };
  if (turns_.enter({task, turn_away})) submit(round, std::move(task));
}

void App::decide_and_wait(Call&& call, DecideAndWait decide) {
  submit_call(*this, std::move(call), {std::move(decide)});
}

void App::decide_claiming(Call&& call, ClaimsOf claims_of, DecideClaiming decide) {
  CallTask::Order order;
  order.decide_claiming = std::move(decide);
  order.claims_of = std::move(claims_of);
  submit_call(*this, std::move(call), std::move(order));
}

void App::pass_on(Call&& call, uint16_t partition) {
  if (pass_on_) return pass_on_(std::move(call), partition);
  call.fail(Error{ErrorCode::Conflict, "another partition has decided this call"});
}

void App::decide_while_connected(Call&& call, DecideAndWait decide) {
  Round* round = call.leave_round();
  auto task =
      std::make_shared<CallTask>(*this, std::move(call), CallTask::Order{std::move(decide)});
  task->call().responder.on_disconnect([weak = std::weak_ptr<CallTask>(task)] {
    if (auto alive = weak.lock()) alive->abandon();
  });
  submit(round, std::move(task));
}

void App::submit(Round* round, TaskPtr task) {
  if (round != nullptr) return round->push_back(std::move(task));
  Round alone{std::move(task)};
  engine_.submit(alone);
}

bool is_part(const App& app, const Call& call) {
  return app.config().partitions > 1 && !call.request.header(kPartHeader).empty();
}

}  // namespace pawl::api
