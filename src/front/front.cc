#include "front/front.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "front/gathering.h"
#include "front/merge.h"
#include "front/queue_removal.h"
#include "front/request_edit.h"
#include "front/sinks.h"
#include "front/stray_ids.h"

namespace pawl::front {

using api::Routing;

struct Front::Rounds {
  struct OfPartition {
    uint16_t partition;
    Here here;
    api::Round tasks = {};
  };
  std::vector<OfPartition> open;

  OfPartition& of(uint16_t partition, const Here& here) {
    for (OfPartition& round : open)
      if (round.partition == partition && round.here.app == here.app) return round;
    return open.emplace_back(OfPartition{partition, here});
  }
  void end() {
    for (OfPartition& round : open) round.here.app->engine().submit(round.tasks);
    open.clear();
  }
};

Front::Front(api::ServerParts& server, PartitionMap& map, link::Links* links, link::OwnPeer self,
             std::function<void()> look)
    : server_(server),
      map_(map),
      links_(links),
      passing_(server, map, links, alarm_, look),
      desk_(server, map, passing_, links, alarm_, self),
      splitting_(map, passing_, desk_),
      workers_(server, map, passing_, links, alarm_, std::move(self)),
      look_(std::move(look)) {}

// What the alarm and the pool call uses the other members.
Front::~Front() {
  merges_.stop();
  alarm_.stop();
}

void Front::begin_drain() {
  desk_.stop();
  events_.stop();
}

http::RoundHandler Front::round_handler() {
  auto rounds = std::make_shared<Rounds>();
  return {.handle =
              [this, rounds](http::Request&& request, http::Responder responder) {
                handle(std::move(request), std::move(responder), *rounds);
              },
          .end_round = [rounds] { rounds->end(); }};
}

Placed Front::placed(const api::Route& route, const http::Request& request) const {
  Placed call{route, request, {}, std::string(request.header("x-ojs-tenant"))};
  std::string others;
  if (route.pattern.find('{') != std::string_view::npos)
    server_.router().find(request.method, request.path, call.params, others);
  return call;
}

void Front::handle(http::Request&& request, http::Responder responder, Rounds& rounds) {
  std::optional<http::Response> refusal;
  const api::Route* found = server_.route_of(request, refusal);
  if (found == nullptr) return responder.respond(std::move(*refusal));
  const api::Route& route = *found;
  Placed call = placed(route, request);
  const auto sink = [&] { return http::sink_for(std::move(responder)); };
  switch (route.routing) {
    case Routing::Here:
      if (NodeDesk::answers(route))
        return about_node(call, http::parts_of(std::move(request)), sink());
      return decide_anywhere(route, std::move(request), std::move(responder), rounds);
    case Routing::ById:
      if (names_cursor_of_all(request))
        return events_of_one(std::move(call), http::parts_of(std::move(request)), sink());
      if (may_be_stray(call))
        return ask_for_stray(passing_, map_.partitions(), route, http::parts_of(std::move(request)),
                             sink());
      [[fallthrough]];
    case Routing::ByName:
      return decide_at(place_by_path(call, map_.partitions()), route, std::move(request),
                       std::move(responder), rounds);
    case Routing::Settings:
      if (removes_queue(route))
        return remove_queue(passing_, map_.partitions(), route, http::parts_of(std::move(request)),
                            std::move(call.params), sink());
      return decide_at(0, route, std::move(request), std::move(responder), rounds);
    case Routing::Create:
      return create(std::move(call), std::move(request), std::move(responder), rounds);
    case Routing::Gather:
    case Routing::Broadcast:
      if (WorkerDesk::answers(route))
        return about_node(call, http::parts_of(std::move(request)), sink());
      return ask_all(route, http::parts_of(std::move(request)), sink());
    case Routing::Split:
      return splitting_.answer(
          {http::parts_of(std::move(request)), &route, std::move(call.tenant), sink()});
    case Routing::Fetch:
      return fetch(route, http::parts_of(std::move(request)), std::move(call.tenant), sink(),
                   false);
    case Routing::Stream:
      return events_.answer(route, http::parts_of(std::move(request)), std::move(call.params),
                            sink());
  }
}

// The common case costs no copy of the request.
void Front::decide_at(uint16_t partition, const api::Route& route, http::Request&& request,
                      http::Responder responder, Rounds& rounds) {
  const Server to = map_.find(partition);
  if (to.here) {
    Rounds::OfPartition& round = rounds.of(partition, to.here);
    return passing_.handle_here(to.here, std::move(request), std::move(responder), round.tasks);
  }
  const bool waits = request.query.find("wait") != std::string_view::npos ||
                     request.query.find("stream") != std::string_view::npos ||
                     request.body.find("\"wait\"") != std::string_view::npos;
  Errand errand{.request = http::parts_of(std::move(request)), .route = &route};
  errand.partition = partition;
  errand.waits = waits;
  errand.sink = http::sink_for(std::move(responder));
  passing_.pass(std::move(errand));
}

void Front::decide_anywhere(const api::Route& route, http::Request&& request,
                            http::Responder responder, Rounds& rounds) {
  const uint64_t turn = turn_.fetch_add(1, std::memory_order_relaxed);
  const auto here = map_.any_here(turn);
  const uint16_t partition = here ? here->first : static_cast<uint16_t>(turn % map_.partitions());
  decide_at(partition, route, std::move(request), std::move(responder), rounds);
}

// What needs no partition: so nobody else checks the key.
void Front::about_node(const Placed& call, http::RequestParts request,
                       std::shared_ptr<http::AnswerSink> sink) {
  const auto answer = [this, &route = call.route, params = call.params, request,
                       sink](std::optional<http::Response> refusal) {
    if (refusal) return sink->answer(std::move(*refusal));
    if (NodeDesk::answers(route)) return node_.answer(route, request, sink);
    workers_.answer(route, request, params, sink);
  };
  if (call.route.scope == api::Permission::Public) return answer(std::nullopt);
  passing_.check_key(request, answer);
}

// Events of one job or run, from a cursor of all partitions.
void Front::events_of_one(Placed&& call, http::RequestParts request,
                          std::shared_ptr<http::AnswerSink> sink) {
  Errand errand{.request = std::move(request), .route = &call.route};
  errand.partition = place_by_path(call, map_.partitions());
  if (Status good = localize_cursor(errand.request, errand.partition, map_.partitions());
      !good.ok())
    return sink->answer(
        call_of(call.route, errand.request, std::move(call.params)).failure(good.error()));
  errand.waits = true;
  errand.sink = std::move(sink);
  passing_.pass(std::move(errand));
}

void Front::create(Placed&& call, http::Request&& request, http::Responder responder,
                   Rounds& rounds) {
  CreatePlace place = place_to_create(call, map_.partitions());
  const bool spread = !place.queue.empty() && heat_.note(place.queue, 1, server_.clock().now_ms());
  if (!place.partition || spread)
    return decide_anywhere(call.route, std::move(request), std::move(responder), rounds);
  decide_at(*place.partition, call.route, std::move(request), std::move(responder), rounds);
}

void Front::ask_all(const api::Route& route, http::RequestParts request,
                    std::shared_ptr<http::AnswerSink> sink) {
  auto asked = ask_parts(route, request, map_.partitions());
  if (!asked.ok()) return sink->answer(call_of(route, request).failure(asked.error()));
  MergeAbout about{.partitions = map_.partitions(), .now_ms = server_.clock().now_ms()};
  if (asked->needs_node) node_.introduce(about);
  if (!asked->needs_workers)
    return merge_later(route, std::move(request), *std::move(asked), std::move(about),
                       std::move(sink));
  workers_.ask_nodes(
      {}, [this, &route, request = std::move(request), asked = *std::move(asked),
           about = std::move(about), sink](Result<std::vector<api::WorkerInfo>> workers) mutable {
        if (!workers.ok()) return sink->answer(call_of(route, request).failure(workers.error()));
        about.workers = std::move(workers).value();
        merge_later(route, std::move(request), std::move(asked), std::move(about), std::move(sink));
      });
}

// The parts are joined on the pool: whoever brings the last one has other work.
void Front::merge_later(const api::Route& route, http::RequestParts request, Asked asked,
                        MergeAbout about, std::shared_ptr<http::AnswerSink> sink) {
  struct Kept {
    http::RequestParts request;
    Asked asked;
    MergeAbout about;
    std::vector<http::Response> answers = {};
  };
  auto kept = std::make_shared<Kept>(Kept{std::move(request), std::move(asked), std::move(about)});
  gather(passing_, kept->asked.request, route, kept->asked.parts,
         [this, &route, kept, sink = std::move(sink)](std::vector<http::Response>&& answers) {
           kept->answers = std::move(answers);
           std::function<void()> merge = [&route, kept, sink] {
             sink->answer(merge_answers(route, kept->request, kept->asked, std::move(kept->answers),
                                        kept->about));
           };
           if (Status taken = merges_.run(merge); !taken.ok())
             sink->answer(call_of(route, kept->request).failure(taken.error()));
         });
}

void Front::fetch(const api::Route& route, http::RequestParts request, std::string tenant,
                  std::shared_ptr<http::AnswerSink> sink, bool here_only) {
  auto doc = json::parse(request.body);
  auto order = doc.ok() ? read_fetch_order(doc->root(), tenant) : std::nullopt;
  if (!order) {
    // Whoever gets it says what is wrong with it.
    const auto any = map_.any_here();
    Errand errand{.request = std::move(request), .route = &route};
    errand.partition = any ? any->first : 0;
    errand.sink = std::move(sink);
    return passing_.pass(std::move(errand));
  }
  FetchDesk::Wish wish{.order = std::move(*order), .request = std::move(request), .route = &route};
  wish.is_gone = [sink] { return sink->disconnected(); };
  wish.here_only = here_only;
  if (here_only) {
    link::Peer waiting;
    for (const auto& [name, value] : wish.request.headers) {
      if (name == "pawl-waiting-node") waiting.name = value;
      if (name == "pawl-waiting-incarnation") waiting.incarnation = value;
      if (name == "pawl-waiting-url") waiting.url = value;
    }
    if (!waiting.incarnation.empty()) wish.interested = std::move(waiting);
  }
  desk_.fetch(std::move(wish), [sink, here_only](FetchedJobs fetched) {
    if (fetched.refusal && fetched.jobs.empty()) return sink->answer(std::move(*fetched.refusal));
    http::Response response = api::json_response(api::Surface::Ojs, 200, jobs_body(fetched.jobs));
    if (here_only) response.headers.emplace_back(kCoveredHeader, partitions_text(fetched.covered));
    sink->answer(std::move(response));
  });
}

bool Front::deliver(uint16_t partition, uint64_t epoch, uint8_t hops, http::Request&& request,
                    http::Responder&& responder) {
  if (partition == kWholeNode) return deliver_to_node(std::move(request), std::move(responder));
  if (partition >= map_.partitions() || hops > kHopsMax) return false;
  const Server to = map_.find(partition);
  // A store that reopened has raised the epoch since it was served here.
  if (!to.here || epoch < to.epoch) return false;
  api::Round round;
  passing_.handle_here(to.here, std::move(request), std::move(responder), round);
  to.here.app->engine().submit(round);
  return true;
}

void Front::tell_peers_to_look() {
  for (const link::Peer& peer : map_.peers()) {
    link::Passed hint{.partition = kWholeNode, .hops = 1};
    hint.request.method = "POST";
    hint.request.target = std::string(kLookPath);
    // It may be lost: they look by themselves now and then.
    links_->call({peer, std::move(hint), std::make_shared<AnswerTo>([](http::Response&&) {}),
                  [](link::LinkFailure) {}});
  }
}

bool Front::deliver_to_node(http::Request&& request, http::Responder responder) {
  if (request.path == kHintPath) {
    desk_.hinted(std::string(request.body),
                 std::string(request.header("pawl-hinting-incarnation")));
    responder.respond({.status = 204});
    return true;
  }
  if (request.path == kWorkersPath) {
    responder.respond(workers_.answer_node(request.body));
    return true;
  }
  if (request.path == kLookPath) {
    if (look_) look_();
    responder.respond({.status = 204});
    return true;
  }
  std::optional<http::Response> refusal;
  const api::Route* route = server_.route_of(request, refusal);
  if (route == nullptr) {
    responder.respond(std::move(*refusal));
    return true;
  }
  auto sink = http::sink_for(std::move(responder));
  if (route->routing == Routing::Fetch) {
    std::string tenant(request.header("x-ojs-tenant"));
    fetch(*route, http::parts_of(std::move(request)), std::move(tenant), std::move(sink), true);
    return true;
  }
  Errand errand{.request = http::parts_of(std::move(request)), .route = route};
  const auto any = map_.any_here();
  errand.partition = any ? any->first : 0;
  errand.sink = std::move(sink);
  passing_.pass(std::move(errand));
  return true;
}

}  // namespace pawl::front
