#include "front/node_desk.h"

#include "front/gathering.h"
#include "front/merge_metrics.h"
#include "front/request_edit.h"

namespace pawl::front {
namespace {

constexpr std::string_view kMetricsPattern = "/metrics";

// The partitions of this node, kept from being given up while a page is made of them.
struct Entered {
  explicit Entered(const PartitionMap& map, api::ServerParts& server)
      : partitions(map.all_here()), node{server} {
    for (const auto& [partition, here] : partitions) node.apps.push_back(here.app);
    node.without_owner = map.without_owner();
  }

  const std::vector<std::pair<uint16_t, Here>> partitions;
  api::NodeParts node;
};

}  // namespace

bool NodeDesk::answers(const api::Route& route) {
  return route.pattern == kMetricsPattern || api::node_page_of(route) != nullptr;
}

void NodeDesk::answer(const api::Route& route, http::RequestParts request,
                      std::shared_ptr<http::AnswerSink> sink) {
  if (route.pattern == kMetricsPattern)
    return answer_metrics(route, std::move(request), std::move(sink));
  http::Response answer;
  {
    const Entered entered(map_, server_);
    answer = api::node_page_of(route)(entered.node, api::surface_of_path(route.pattern));
  }
  sink->answer(std::move(answer));
}

void NodeDesk::answer_metrics(const api::Route& route, http::RequestParts request,
                              std::shared_ptr<http::AnswerSink> sink) {
  std::vector<Part> parts;
  for (const auto& [partition, here] : map_.all_here()) parts.push_back({partition, ""});
  auto finish = [this, sink, parts](std::vector<http::Response>&& answers) {
    auto kept = std::make_shared<std::vector<http::Response>>(std::move(answers));
    std::function<void()> merge = [this, sink, parts, kept] {
      std::vector<MetricsPart> texts;
      for (size_t i = 0; i < kept->size(); ++i)
        if ((*kept)[i].status == 200) texts.push_back({parts[i].partition, (*kept)[i].body});
      std::string text = merge_metrics(texts);
      text += api::node_metrics(Entered(map_, server_).node);
      sink->answer(api::metrics_response(std::move(text)));
    };
    // Without room on the pool, here.
    if (!pool_.run(merge).ok()) merge();
  };
  if (parts.empty()) return finish({});
  mark_part(request);
  gather(passing_, request, route, parts, std::move(finish));
}

void NodeDesk::introduce(MergeAbout& about) const {
  for (const auto& [partition, here] : map_.all_here()) about.here.push_back(partition);
  json::ObjectWriter w;
  api::write_node_of_system(w, server_, server_.draining());
  if (auto node = Value::parse(w.close()); node.ok()) about.node = std::move(node->as_object());
  about.connections = static_cast<int64_t>(server_.http_stats().connections_open);
}

}  // namespace pawl::front
