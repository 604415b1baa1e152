#include "api/node_pages.h"

#include <algorithm>

namespace pawl::api {
namespace {

constexpr std::pair<std::string_view, NodePage> kNodePages[] = {
    {"/health", health_page},
    {"/ojs/v1/health", health_page},
    {"/ojs/v1/admin/system/health", health_page},
    {"/ready", ready_page},
    {"/ojs/manifest", manifest_page},
    {"/v1/cluster", cluster_page},
    {"/", status_page},
    {"/status/status.css", status_style},
    {"/status/status.js", status_script}};

}  // namespace

bool NodeParts::draining() const {
  const auto drains = [](const App* app) { return app->draining(); };
  const bool alone = server.config().partitions == 1;
  return server.draining() || (alone && std::any_of(apps.begin(), apps.end(), drains));
}

NodePage node_page_of(const Route& route) {
  for (const auto& [pattern, page] : kNodePages)
    if (pattern == route.pattern && route.method == "GET") return page;
  return nullptr;
}

void answer_node_page(App& app, Call&& call) {
  call.answer(node_page_of(*call.route)({app.server(), {&app}}, call.surface()));
}

}  // namespace pawl::api
