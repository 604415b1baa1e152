#include "front/worker_desk.h"

#include <algorithm>
#include <mutex>

#include "api/ojs/worker_states.h"
#include "api/part_call.h"
#include "base/json.h"
#include "front/fetch_desk.h"
#include "front/gathering.h"
#include "front/merge.h"
#include "front/request_edit.h"
#include "front/sinks.h"

namespace pawl::front {
namespace {

using api::WorkerInfo;
using Workers = std::vector<WorkerInfo>;

constexpr std::chrono::milliseconds kAskNodesAgain{100};
constexpr std::string_view kWorkersPattern = "/ojs/v1/admin/workers";
constexpr std::string_view kWorkerPattern = "/ojs/v1/admin/workers/{id}";
constexpr std::string_view kHealthPattern = "/ojs/v1/workers/{id}/health";
constexpr std::string_view kDirectivePattern = "/ojs/v1/admin/workers/directive";

const WorkerInfo* worker_among(const Workers& workers, const std::string& id) {
  const auto at = std::find_if(workers.begin(), workers.end(),
                               [&](const WorkerInfo& one) { return one.id == id; });
  return at == workers.end() ? nullptr : &*at;
}

uint64_t requeued_by(const std::vector<http::Response>& answers) {
  uint64_t sum = 0;
  for (const http::Response& answer : answers) {
    auto doc = json::parse(answer.body);
    auto count = doc.ok() ? doc->root().find("jobs_requeued") : std::nullopt;
    if (count) sum += static_cast<uint64_t>(count->as_int().value_or(0));
  }
  return sum;
}

}  // namespace

// One question to all nodes.
struct WorkerDesk::Ask {
  WorkerOrder order;
  Known known;
  Alarm::Time give_up = std::chrono::steady_clock::now() + kOwnerWait;
  std::mutex mutex;
  std::vector<Workers> told;  // guarded by mutex
  size_t missing = 0;         // guarded by mutex
  bool failed = false;        // guarded by mutex
};

// A client's call.
struct WorkerDesk::WorkerCall {
  http::RequestParts request;
  api::Call call;
  std::shared_ptr<http::AnswerSink> sink;
};

WorkerDesk::WorkerDesk(api::ServerParts& server, PartitionMap& map, Passing& passing,
                       link::Links* links, Alarm& alarm, link::OwnPeer self)
    : server_(server),
      map_(map),
      passing_(passing),
      links_(links),
      alarm_(alarm),
      self_(std::move(self)) {}

// --- the nodes

std::vector<link::Peer> WorkerDesk::other_nodes(std::vector<std::string>& serving) const {
  std::vector<link::Peer> nodes;
  if (links_ == nullptr) return nodes;
  nodes = map_.peers();
  for (const link::Peer& peer : nodes) serving.push_back(peer.incarnation);
  // Workers may have called those that serve nothing, too.
  if (!server_.cluster().view) return nodes;
  for (const cluster::NodeView& node : server_.cluster().view().nodes) {
    const bool known = std::any_of(nodes.begin(), nodes.end(), [&](const link::Peer& peer) {
      return peer.incarnation == node.incarnation;
    });
    if (node.state != cluster::NodeState::Dead && !known && !self_.incarnation.is(node.incarnation))
      nodes.push_back({node.name, node.incarnation, node.url});
  }
  return nodes;
}

Workers WorkerDesk::obey(const WorkerOrder& order) {
  api::WorkerRegistry& registry = server_.workers();
  for (const std::string& id : order.ids)
    order.forget ? registry.forget(id) : registry.tell_ahead(id, order.directive);
  return registry.list(server_.clock().now_ms());
}

http::Response WorkerDesk::answer_node(std::string_view order) {
  return {.content_type = "application/json", .body = workers_text(obey(read_order(order)))};
}

void WorkerDesk::ask_nodes(const WorkerOrder& order, Known known) {
  auto ask = std::make_shared<Ask>();
  ask->order = order;
  ask->known = std::move(known);
  begin(ask);
}

void WorkerDesk::begin(const std::shared_ptr<Ask>& ask) {
  std::vector<std::string> serving;
  const std::vector<link::Peer> nodes = other_nodes(serving);
  {
    std::lock_guard lock(ask->mutex);
    ask->told.clear();
    ask->failed = false;
    ask->missing = nodes.size() + 1;
  }
  const std::string text = order_text(ask->order);
  for (const link::Peer& node : nodes) {
    const bool must = std::find(serving.begin(), serving.end(), node.incarnation) != serving.end();
    link::Passed passed{.partition = kWholeNode, .hops = 1};
    passed.request.method = "POST";
    passed.request.target = std::string(kWorkersPath);
    passed.request.body = text;
    auto sink = std::make_shared<AnswerTo>([this, ask, must](http::Response&& answer) {
      node_answered(ask, must, answer.status < 400 ? read_workers(answer.body) : std::nullopt);
    });
    links_->call({node, std::move(passed), std::move(sink), [this, ask, must](link::LinkFailure) {
                    node_answered(ask, must, std::nullopt);
                  }});
  }
  node_answered(ask, true, obey(ask->order));
}

void WorkerDesk::node_answered(const std::shared_ptr<Ask>& ask, bool must,
                               std::optional<Workers> workers) {
  {
    std::lock_guard lock(ask->mutex);
    if (workers) {
      ask->told.push_back(std::move(*workers));
    } else {
      ask->failed |= must;
    }
    if (--ask->missing > 0) return;
  }
  if (!ask->failed) return ask->known(merge_workers(ask->told));
  // A node that is gone is known to be so after a while; then the others have its partitions.
  if (std::chrono::steady_clock::now() + kAskNodesAgain < ask->give_up) {
    alarm_.in(kAskNodesAgain, [this, ask] { begin(ask); });
    return;
  }
  ask->known(Error{ErrorCode::NoOwner, "a node that serves partitions does not answer"});
}

// --- calls

bool WorkerDesk::answers(const api::Route& route) {
  return route.pattern == kWorkersPattern || route.pattern == kWorkerPattern ||
         route.pattern == kHealthPattern || route.pattern == kDirectivePattern ||
         api::directive_of_path(route.pattern).has_value();
}

void WorkerDesk::answer(const api::Route& route, http::RequestParts request,
                        std::vector<std::string> params, std::shared_ptr<http::AnswerSink> sink) {
  auto call = std::make_shared<WorkerCall>();
  call->call = call_of(route, request, std::move(params));
  call->request = std::move(request);
  call->sink = std::move(sink);
  ask_nodes({}, [this, call](Result<Workers> workers) {
    if (!workers.ok()) return call->sink->answer(call->call.failure(workers.error()));
    answer_known(call, *workers);
  });
}

void WorkerDesk::answer_known(const std::shared_ptr<WorkerCall>& call, const Workers& workers) {
  const int64_t now_ms = server_.clock().now_ms();
  const api::Route& route = *call->call.route;
  const auto refuse = [&](const Error& error) { call->sink->answer(call->call.failure(error)); };
  if (route.pattern == kWorkersPattern) {
    auto page = api::parse_page(call->call);
    if (!page.ok()) return refuse(page.error());
    auto answer = api::workers_page(*page, workers, now_ms);
    return answer.ok() ? call->sink->answer(std::move(answer).value()) : refuse(answer.error());
  }
  if (route.pattern == kDirectivePattern) {
    auto asked = api::read_directive(call->call);
    if (!asked.ok()) return refuse(asked.error());
    WorkerOrder order{.directive = std::string(api::told_by(*asked))};
    for (const WorkerInfo& worker : workers) order.ids.push_back(worker.id);
    return tell(call, order, [asked = *asked, count = order.ids.size()](const Workers&) {
      return api::directive_response(asked, count);
    });
  }
  const WorkerInfo* worker = worker_among(workers, call->call.params[0]);
  if (worker == nullptr) return refuse(api::no_such_worker());
  if (route.pattern == kHealthPattern)
    return call->sink->answer(api::worker_health_response(*worker, now_ms));
  if (route.method == "DELETE") return deregister(call, *worker);
  const auto directive = api::directive_of_path(route.pattern);
  if (!directive) return call->sink->answer(api::worker_response(*worker, now_ms));
  WorkerOrder order{.ids = {worker->id}, .directive = std::string(*directive)};
  tell(call, std::move(order), [now_ms, before = *worker](const Workers& after) {
    const WorkerInfo* told = worker_among(after, before.id);
    return api::worker_response(told != nullptr ? *told : before, now_ms);
  });
}

void WorkerDesk::tell(const std::shared_ptr<WorkerCall>& call, WorkerOrder order,
                      std::function<http::Response(const Workers&)> answer) {
  ask_nodes(order, [call, answer = std::move(answer)](Result<Workers> workers) {
    call->sink->answer(workers.ok() ? answer(*workers) : call->call.failure(workers.error()));
  });
}

// Each partition requeues the jobs that the worker holds there. One that may be alive keeps them:
// then a partition where it holds any refuses, and the others had nothing to do.
void WorkerDesk::deregister(const std::shared_ptr<WorkerCall>& call, const WorkerInfo& worker) {
  const bool gone = api::is_stale(worker, server_.clock().now_ms());
  http::RequestParts part = call->request;
  mark_part(part, gone ? api::kPartActAll : api::kPartAct);
  std::vector<Part> parts;
  for (uint16_t k = 0; k < map_.partitions(); ++k) parts.push_back({k, part.body});
  gather(passing_, part, *call->call.route, std::move(parts),
         [this, call, id = worker.id](std::vector<http::Response>&& answers) {
           if (const http::Response* failure = failure_among(answers))
             return call->sink->answer(http::Response(*failure));
           tell(call, {.ids = {id}, .forget = true},
                [id, requeued = requeued_by(answers)](const Workers&) {
                  return api::deregistered_response(id, requeued);
                });
         });
}

}  // namespace pawl::front
