#include "front/passing.h"

#include <strings.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "courier/take_messages.h"
#include "front/leased_answer.h"
#include "front/sinks.h"

namespace pawl::front {
namespace {

// Whether sending it twice does it once.
bool may_repeat(const http::RequestParts& request) {
  if (request.method == "GET" || request.method == "HEAD") return true;
  for (const auto& [name, value] : request.headers)
    if (name.size() == 15 && strcasecmp(name.c_str(), "idempotency-key") == 0)
      return !value.empty();
  return false;
}

// Holds an answer of a setting back until all partitions know of it.
class SettingsAnswer final : public http::AnswerSink {
 public:
  SettingsAnswer(http::Responder responder, api::App::SettingsGate gate, std::string request_id,
                 api::Surface surface)
      : to_(http::sink_for(std::move(responder))),
        gate_(std::move(gate)),
        request_id_(std::move(request_id)),
        surface_(surface) {}

  void answer(http::Response&& response) override {
    if (response.status >= 400 || !gate_) return to_->answer(std::move(response));
    gate_([to = to_, id = request_id_, surface = surface_,
           kept = std::make_shared<http::Response>(std::move(response))](const Status& known) {
      to->answer(known.ok() ? std::move(*kept) : api::error_response(surface, known.error(), id));
    });
  }
  void begin_stream(http::Response&& head) override { to_->begin_stream(std::move(head)); }
  bool write(std::string_view chunk) override { return to_->write(chunk); }
  void end_stream() override { to_->end_stream(); }
  size_t unsent() const override { return to_->unsent(); }
  bool disconnected() const override { return to_->disconnected(); }
  void on_disconnect(std::function<void()> callback) override {
    to_->on_disconnect(std::move(callback));
  }

 private:
  const std::shared_ptr<http::AnswerSink> to_;
  const api::App::SettingsGate gate_;
  const std::string request_id_;
  const api::Surface surface_;
};

// Only other nodes' couriers and this one's come here: no route leads to it.
void take_messages_here(const Here& here, const http::Request& request, http::Responder responder) {
  auto sink = http::sink_for(std::move(responder));
  api::App* app = here.app;
  take_messages(
      app->engine(), std::string(request.body),
      [app](Frame& frame, DocKind kind, const std::string& key) {
        app->setting_copied(frame, kind, key);
      },
      [sink, under_way = app->ticket()](Result<std::string> answer) {
        sink->answer(answer.ok() ? http::Response{.status = 200, .body = std::move(*answer)}
                                 : http::Response{.status = 503, .body = answer.error().message});
      });
}

// The answer to check_key(): the refusal of what the headers name, or nothing.
void check_key_here(api::ServerParts& server, http::Request&& request, http::Responder responder) {
  std::string method(request.header(kKeyMethodHeader));
  std::string target(request.header(kKeyTargetHeader));
  http::RequestParts asked = http::parts_of(std::move(request));
  asked.method = std::move(method);
  asked.target = std::move(target);
  asked.body.clear();
  http::Request judged = http::make_request(std::move(asked));
  std::optional<http::Response> refusal;
  const bool good = server.route_of(judged, refusal) != nullptr;
  responder.respond(good ? http::Response{.status = 204} : std::move(*refusal));
}

}  // namespace

struct Passing::Trip {
  Errand errand;
  bool repeats = false;
};

Passing::Passing(api::ServerParts& server, PartitionMap& map, link::Links* links, Alarm& alarm,
                 std::function<void()> look)
    : server_(server), map_(map), links_(links), alarm_(alarm), look_(std::move(look)) {}

void Passing::pass(Errand errand) {
  auto trip = std::make_shared<Trip>();
  trip->repeats = may_repeat(errand.request);
  trip->errand = std::move(errand);
  go(trip);
}

void Passing::go(const std::shared_ptr<Trip>& trip) {
  const Server to = map_.find(trip->errand.partition);
  if (to.here) return go_here(trip, to.here);
  if (to.peer && links_ != nullptr && trip->errand.hops < kHopsMax) return go_there(trip, to);
  wait_for_owner(trip);
}

void Passing::go_here(const std::shared_ptr<Trip>& trip, const Here& here) {
  Errand& errand = trip->errand;
  http::Request request = http::make_request(std::move(errand.request));
  request.verdict = errand.route;
  request.verdict_epoch = server_.keys().epoch();
  api::Round round;
  handle_here(here, std::move(request), http::responder_for(errand.sink), round);
  here.app->engine().submit(round);
}

void Passing::handle_here(const Here& here, http::Request&& request, http::Responder responder,
                          api::Round& round) {
  if (request.path == kMessagesPath) return take_messages_here(here, request, std::move(responder));
  if (request.path == kKeyPath)
    return check_key_here(server_, std::move(request), std::move(responder));
  std::optional<http::Response> refusal;
  const api::Route* route = server_.route_of(request, refusal);
  if (route == nullptr) return responder.respond(std::move(*refusal));
  if (lease_holds_)
    responder =
        http::responder_for(leased_answer(std::move(responder), *route, request, lease_holds_));
  if (route->routing == api::Routing::Settings && request.method != "GET" &&
      here.app->settings_gate()) {
    auto sink = std::make_shared<SettingsAnswer>(std::move(responder), here.app->settings_gate(),
                                                 std::string(request.id),
                                                 api::surface_of_path(route->pattern));
    responder = http::responder_for(std::move(sink));
  }
  here.app->handle(std::move(request), std::move(responder), round);
}

void Passing::check_key(const http::RequestParts& request,
                        std::function<void(std::optional<http::Response>)> done) {
  if (server_.knows_keys()) return done(std::nullopt);
  Errand errand{.request = request};
  errand.request.method = "GET";
  errand.request.target = std::string(kKeyPath);
  errand.request.body.clear();
  errand.request.headers.emplace_back(kKeyMethodHeader, request.method);
  errand.request.headers.emplace_back(kKeyTargetHeader, request.target);
  // All know the keys: whichever has an owner.
  const std::vector<uint16_t> without = map_.without_owner();
  while (errand.partition + 1 < map_.partitions() &&
         std::find(without.begin(), without.end(), errand.partition) != without.end())
    ++errand.partition;
  errand.sink = std::make_shared<AnswerTo>([done = std::move(done)](http::Response&& answer) {
    done(answer.status < 400 ? std::nullopt : std::optional(std::move(answer)));
  });
  pass(std::move(errand));
}

void Passing::carry(uint16_t to, std::string batch, std::function<void(Result<std::string>)> done) {
  Errand errand;
  errand.request.method = "POST";
  errand.request.target = std::string(kMessagesPath);
  errand.request.body = std::move(batch);
  errand.partition = to;
  errand.sink = std::make_shared<AnswerTo>([done = std::move(done)](http::Response&& answer) {
    if (answer.status == 200) return done(std::move(answer.body));
    done(Error{ErrorCode::Unavailable, "the partition did not take the messages"});
  });
  pass(std::move(errand));
}

void Passing::go_there(const std::shared_ptr<Trip>& trip, const Server& to) {
  const Errand& errand = trip->errand;
  link::Passed passed{errand.partition, to.epoch, static_cast<uint8_t>(errand.hops + 1),
                      errand.request, errand.waits};
  links_->call({*to.peer, std::move(passed), errand.sink,
                [this, trip](link::LinkFailure failure) { failed(trip, failure); }});
}

void Passing::failed(const std::shared_ptr<Trip>& trip, link::LinkFailure failure) {
  if (failure == link::LinkFailure::Refused)
    return fail(*trip, {ErrorCode::NoOwner, "another node refused this one's cluster key"});
  if (failure == link::LinkFailure::Unknown && !trip->repeats)
    return fail(*trip, {ErrorCode::OutcomeUnknown,
                        "the node that took this request is gone before its answer; it may have "
                        "happened"});
  if (std::chrono::steady_clock::now() + kAskAgain >= trip->errand.give_up)
    return wait_for_owner(trip);
  if (look_) look_();
  alarm_.in(kAskAgain, [this, trip] { go(trip); });
}

void Passing::wait_for_owner(const std::shared_ptr<Trip>& trip) {
  if (std::chrono::steady_clock::now() >= trip->errand.give_up)
    return fail(*trip, {ErrorCode::NoOwner, "partition " + std::to_string(trip->errand.partition) +
                                                " has no owner at present"});
  // Whichever comes first goes on.
  auto begun = std::make_shared<std::atomic<bool>>(false);
  const auto go_on = [this, trip, begun] {
    if (!begun->exchange(true)) go(trip);
  };
  alarm_.at(trip->errand.give_up, go_on);
  map_.when_served(trip->errand.partition, go_on);
}

void Passing::fail(Trip& trip, Error error) const {
  const http::RequestParts& request = trip.errand.request;
  trip.errand.sink->answer(
      api::error_response(api::surface_of_path(request.target), error, request.id));
}

}  // namespace pawl::front
