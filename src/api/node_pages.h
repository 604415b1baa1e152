// Pages of a node: answers about it as a whole, whatever partitions it serves, none included:
// health, readiness, the cluster as it sees it, its figures, and files of the status page.
//
// Thread: any; nothing here waits for an engine, so a stuck one is reported.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/app.h"
#include "base/json_writer.h"

namespace pawl::api {

struct NodeParts {
  ServerParts& server;
  std::vector<App*> apps = {};               // of the partitions that it serves
  std::vector<uint16_t> without_owner = {};  // partitions that nobody serves, in the whole cluster

  bool draining() const;
};

using NodePage = http::Response (*)(const NodeParts&, Surface);
// Of a route that is about the node alone; null for any other.
NodePage node_page_of(const Route& route);
// The handler of such a route on a server that has one partition.
void answer_node_page(App& app, Call&& call);

// --- the pages

http::Response health_page(const NodeParts& node, Surface surface);
// Ready: every partition of the cluster is served, and none here is stuck.
http::Response ready_page(const NodeParts& node, Surface surface);
http::Response manifest_page(const NodeParts& node, Surface surface);
http::Response cluster_page(const NodeParts& node, Surface surface);
http::Response status_page(const NodeParts& node, Surface surface);
http::Response status_style(const NodeParts& node, Surface surface);
http::Response status_script(const NodeParts& node, Surface surface);

// --- what is left of others without the partitions' part

// The families of /metrics that are the node's: of its process, its connections, its calls.
std::string node_metrics(const NodeParts& node);
http::Response metrics_response(std::string text);
// Members of /v1/system that are the node's.
void write_node_of_system(json::Writer& w, ServerParts& server, bool draining);

}  // namespace pawl::api
