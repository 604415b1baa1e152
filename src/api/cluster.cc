#include "api/cluster.h"

#include <functional>
#include <memory>

#include "api/app.h"
#include "api/node_pages.h"
#include "api/response.h"
#include "api/routes.h"
#include "base/json_writer.h"
#include "journal/record.h"

namespace pawl::api {
namespace {

using cluster::ClusterView;
using cluster::NodeState;
using cluster::NodeView;
using cluster::PartitionState;
using cluster::PartitionView;

ClusterView alone(const NodeParts& node) {
  const AppConfig& config = node.server.config();
  ClusterView view;
  view.cluster_id = config.server_id;
  view.format = journal::kRecordVersion;
  view.nodes.push_back({{.name = config.node_name,
                         .incarnation = config.server_id,
                         .url = config.url,
                         .version = config.version,
                         .started_ms = node.server.started_ms(),
                         .last_seen_ms = node.server.clock().now_ms()},
                        node.draining() ? NodeState::Draining : NodeState::Live});
  for (App* app : node.apps)
    view.partitions.push_back({{.id = app->engine().partition(),
                                .epoch = 1,
                                .node = config.node_name,
                                .incarnation = config.server_id},
                               PartitionState::Serving,
                               app->store().journal_last()});
  return view;
}

std::string_view word_of(NodeState state) {
  switch (state) {
    case NodeState::Live:
      return "live";
    case NodeState::Draining:
      return "draining";
    case NodeState::Dead:
      return "dead";
  }
  return "";
}

std::string_view word_of(PartitionState state) {
  switch (state) {
    case PartitionState::Free:
      return "free";
    case PartitionState::Recovering:
      return "recovering";
    case PartitionState::Serving:
      return "serving";
    case PartitionState::HandingOver:
      return "handing_over";
  }
  return "";
}

void render_node(json::Writer& w, const ClusterView& view, const NodeView& node) {
  w.begin_object().field("id", node.name).field("url", node.url).field("version", node.version);
  w.field_time("started_at", node.started_ms).field("state", word_of(node.state));
  w.key("partitions").begin_array();
  for (const PartitionView& partition : view.partitions)
    if (partition.node == node.name && partition.incarnation == node.incarnation)
      w.integer(partition.id);
  w.end_array().field_time("last_seen", node.last_seen_ms).end_object();
}

void render_partition(json::Writer& w, const PartitionView& partition) {
  w.begin_object().field_int("id", partition.id).key("owner");
  if (partition.node.empty()) {
    w.null();
  } else {
    w.string(partition.node);
  }
  w.field_int("epoch", partition.epoch)
      .field("state", word_of(partition.state))
      .field_int("journal_head", partition.journal_head)
      .end_object();
}

// A server alone has nobody to hand over to: it stays as it is.
Result<bool> mark_node(App& app, const std::string& node, bool draining) {
  if (app.cluster().set_draining) return app.cluster().set_draining(node, draining);
  return node == app.config().node_name;
}

void set_draining(App& app, Call&& call, bool draining) {
  auto shared = std::make_shared<Call>(std::move(call));
  std::function<void()> work = [&app, shared, draining] {
    const std::string& node = shared->params[0];
    const auto found = mark_node(app, node, draining);
    if (!found.ok()) return shared->fail(found.error());
    if (!*found) return shared->fail({ErrorCode::NotFound, "no node has this name"});
    json::ObjectWriter w;
    w.field("id", node).field_bool("draining", draining);
    shared->answer(json_response(Surface::V1, 200, w.close()));
  };
  if (Status taken = app.readers().run(work); !taken.ok()) shared->fail(taken.error());
}

void drain_node(App& app, Call&& call) { set_draining(app, std::move(call), true); }
void undrain_node(App& app, Call&& call) { set_draining(app, std::move(call), false); }

}  // namespace

ClusterView shown_cluster(const NodeParts& node) {
  const ClusterAccess& cluster = node.server.cluster();
  return cluster.view ? cluster.view() : alone(node);
}

http::Response cluster_page(const NodeParts& node, Surface) {
  const ClusterView view = shown_cluster(node);
  json::ObjectWriter w;
  w.field("cluster_id", view.cluster_id).field_int("format", view.format);
  w.key("nodes").begin_array();
  for (const NodeView& one : view.nodes) render_node(w, view, one);
  w.end_array().key("partitions").begin_array();
  for (const PartitionView& partition : view.partitions) render_partition(w, partition);
  w.end_array().key("warnings").begin_array();
  for (const std::string& warning : view.warnings) w.string(warning);
  w.end_array();
  return json_response(Surface::V1, 200, w.close());
}

void add_cluster_routes(Router& router) {
  router.add({"GET", "/v1/cluster", Permission::Read, Routing::Here, answer_node_page});
  router.add(
      {"POST", "/v1/cluster/nodes/{id}/drain", Permission::Operate, Routing::Here, drain_node});
  router.add(
      {"POST", "/v1/cluster/nodes/{id}/undrain", Permission::Operate, Routing::Here, undrain_node});
}

}  // namespace pawl::api
