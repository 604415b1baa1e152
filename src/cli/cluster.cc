// pawl cluster status
#include "cli/command.h"
#include "cli/session.h"
#include "cli/terminal.h"

namespace pawl::cli {
namespace {

std::string listed(json::View array) {
  std::string out;
  array.each_element([&](json::View one) {
    out += (out.empty() ? "" : ",") + std::string(one.is_string() ? one.string() : one.raw());
  });
  return out;
}

int show_status(const Invocation& given) {
  return Session(given).show("GET", "/v1/cluster", "", [](json::View root) {
    Table nodes({"NODE", "STATE", "PARTITIONS", "URL", "VERSION", "LAST SEEN"});
    if (auto list = root.find("nodes"))
      list->each_element([&](json::View node) {
        const auto partitions = node.find("partitions");
        nodes.add({member(node, "id"), member(node, "state"), partitions ? listed(*partitions) : "",
                   member(node, "url"), member(node, "version"), member(node, "last_seen")});
      });
    Table partitions({"PARTITION", "STATE", "OWNER", "EPOCH", "JOURNAL"});
    if (auto list = root.find("partitions"))
      list->each_element([&](json::View one) {
        partitions.add({member(one, "id"), member(one, "state"), member(one, "owner"),
                        member(one, "epoch"), member(one, "journal_head")});
      });
    print_text("cluster " + member(root, "cluster_id") + "\n\n" + nodes.text(colours_on(stdout)) +
               "\n" + partitions.text(colours_on(stdout)));
    if (auto warnings = root.find("warnings"))
      warnings->each_element(
          [](json::View one) { print_text("warning: " + std::string(one.string()) + "\n"); });
  });
}

}  // namespace

std::vector<Command> cluster_commands() {
  return {remote("cluster status", "nodes and partitions, and who serves what", show_status)};
}

}  // namespace pawl::cli
