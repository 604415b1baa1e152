// pawl cluster status, drain, undrain
#include <chrono>
#include <optional>
#include <thread>

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

constexpr std::chrono::milliseconds kDrainPoll{100};

int mark(const Invocation& given, const char* path_end, const char* done) {
  const std::string node = given.argument(0);
  return Session(given).show("POST", path_of("/v1/cluster/nodes/", node, path_end), "",
                             [&](json::View) { print_text(printable(node) + done); });
}

// How many partitions the node still has; nothing after printing an error.
std::optional<size_t> partitions_of(Session& session, const std::string& node) {
  const auto answer = session.ask("GET", "/v1/cluster");
  if (!answer) return std::nullopt;
  size_t count = 0;
  if (auto nodes = answer->root().find("nodes"))
    nodes->each_element([&](json::View one) {
      const auto partitions = one.find("partitions");
      if (member(one, "id") == node && partitions)
        partitions->each_element([&](json::View) { ++count; });
    });
  return count;
}

int wait_until_drained(Session& session, const std::string& node, int64_t wait_ms) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait_ms);
  for (;;) {
    const auto left = partitions_of(session, node);
    if (!left) return session.exit_code();
    if (*left == 0) {
      print_text(printable(node) + " has no partition any more\n");
      return kDone;
    }
    if (std::chrono::steady_clock::now() >= deadline) {
      complain(printable(node) + " still has " + std::to_string(*left) +
               " partitions; it goes on handing them over while another node can take them");
      return kRefused;
    }
    std::this_thread::sleep_for(kDrainPoll);
  }
}

int drain(const Invocation& given) {
  if (!given.has("--wait")) return mark(given, "/drain", " hands its partitions over\n");
  Session session(given);
  const auto wait_ms = parse_span(given.text("--wait"));
  if (!wait_ms.ok()) return session.fail(wait_ms.error());
  const std::string node = given.argument(0);
  if (!session.ask("POST", path_of("/v1/cluster/nodes/", node, "/drain")))
    return session.exit_code();
  return wait_until_drained(session, node, *wait_ms);
}

int undrain(const Invocation& given) {
  return mark(given, "/undrain", " takes partitions again\n");
}

}  // namespace

std::vector<Command> cluster_commands() {
  const std::vector<Parameter> node = {{"NODE", "its name, as cluster status shows it"}};
  return {
      remote("cluster status", "nodes and partitions, and who serves what", show_status),
      remote("cluster drain", "let a node hand all its partitions over, and take none", drain, node,
             {{"--wait", "DURATION", "until it has none, at most so long"}},
             "Any node can be asked. The node stays drained until `cluster undrain`, or until it "
             "ends.\nWhile no other node can take them, its partitions stay with it.\n\n"
             "Example:\n  pawl cluster drain a --wait 30s && systemctl restart pawl"),
      remote("cluster undrain", "let a drained node take partitions again", undrain, node)};
}

}  // namespace pawl::cli
