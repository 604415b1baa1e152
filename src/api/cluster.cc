#include "api/cluster.h"

#include <algorithm>

#include "api/app.h"
#include "api/response.h"
#include "api/routes.h"
#include "base/json_writer.h"
#include "journal/record.h"

namespace pawl::api {
namespace {

using cluster::ClusterView;
using cluster::NodeSeen;
using cluster::PartitionSeen;

ClusterView alone(App& app) {
  const AppConfig& config = app.config();
  ClusterView view;
  view.cluster_id = config.server_id;
  view.nodes.push_back({.name = config.node_name,
                        .incarnation = config.server_id,
                        .url = config.url,
                        .version = config.version,
                        .started_ms = app.started_ms(),
                        .last_seen_ms = app.clock().now_ms(),
                        .draining = app.draining()});
  view.partitions.push_back(
      {.id = 0, .epoch = 1, .node = config.node_name, .incarnation = config.server_id});
  return view;
}

bool is_dead(const ClusterView& view, const std::string& node) {
  return std::find(view.dead.begin(), view.dead.end(), node) != view.dead.end();
}

void render_node(json::Writer& w, const ClusterView& view, const NodeSeen& node) {
  w.begin_object().field("id", node.name).field("url", node.url).field("version", node.version);
  w.field_time("started_at", node.started_ms)
      .field("state", is_dead(view, node.name) ? "dead"
                      : node.draining          ? "draining"
                                               : "live");
  w.key("partitions").begin_array();
  for (const PartitionSeen& partition : view.partitions)
    if (partition.node == node.name && partition.incarnation == node.incarnation)
      w.integer(partition.id);
  w.end_array().field_time("last_seen", node.last_seen_ms).end_object();
}

// The head of the journal is known of what this node serves.
void render_partition(json::Writer& w, App& app, const ClusterView& view,
                      const PartitionSeen& partition) {
  const bool is_free = partition.node.empty() || is_dead(view, partition.node);
  w.begin_object().field_int("id", partition.id).key("owner");
  if (partition.node.empty()) {
    w.null();
  } else {
    w.string(partition.node);
  }
  w.field_int("epoch", partition.epoch)
      .field("state", is_free ? "free" : "serving")
      .field_int("journal_head", app.store().journal_last())
      .end_object();
}

void show_cluster(App& app, Call&& call) {
  const ClusterView view = shown_cluster(app);
  json::ObjectWriter w;
  w.field("cluster_id", view.cluster_id).field_int("format", journal::kRecordVersion);
  w.key("nodes").begin_array();
  for (const NodeSeen& node : view.nodes) render_node(w, view, node);
  w.end_array().key("partitions").begin_array();
  for (const PartitionSeen& partition : view.partitions) render_partition(w, app, view, partition);
  w.end_array().key("warnings").begin_array();
  for (const std::string& warning : view.warnings) w.string(warning);
  w.end_array();
  call.answer(json_response(Surface::V1, 200, w.close()));
}

}  // namespace

ClusterView shown_cluster(App& app) {
  auto view = app.cluster_view();
  return view ? *std::move(view) : alone(app);
}

void add_cluster_routes(Router& router) {
  router.add({"GET", "/v1/cluster", Permission::Read, Routing::Here, show_cluster});
}

}  // namespace pawl::api
