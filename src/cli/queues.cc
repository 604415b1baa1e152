// pawl queues …
#include "base/json_writer.h"
#include "base/quote.h"
#include "cli/command.h"
#include "cli/session.h"
#include "cli/terminal.h"

namespace pawl::cli {
namespace {

constexpr const char* kQueues = "/ojs/v1/queues";
const Parameter kQueueName{"QUEUE", "its name"};

json::View queue_of(json::View root) {
  auto queue = root.find("queue");
  return queue && queue->is_object() ? *queue : root;
}

std::string queue_state(json::View queue) {
  return member(queue, "paused") == "true" ? "paused" : "running";
}

void print_queue_state(json::View root) {
  json::View queue = queue_of(root);
  print_text(printable(member(queue, "name")) + " is " + queue_state(queue) + "\n");
}

int list_queues(const Invocation& given) {
  std::string query = query_of(given, {"limit", "cursor"}, "100");
  return Session(given).show("GET", kQueues + query, "", [](json::View root) {
    Table table({"QUEUE", "STATE", "AVAILABLE", "ACTIVE", "SCHEDULED", "RETRYABLE"});
    auto queues = root.find("queues");
    if (queues)
      queues->each_element([&](json::View one) {
        if (one.is_string()) return table.add({one.string()});
        table.add({member(one, "name"), queue_state(one), member(one, "available"),
                   member(one, "active"), member(one, "scheduled"), member(one, "retryable")});
      });
    if (table.empty()) return print_text("no queues; pushing a job creates its queue\n");
    print_text(table.text(colours_on(stdout)));
  });
}

int stats(const Invocation& given) {
  return Session(given).show(
      "GET", path_of("/ojs/v1/queues/", given.argument(0), "/stats"), "", [](json::View root) {
        Table table({"WHAT", "VALUE"});
        queue_of(root).each_member([&](json::View name, json::View value) {
          if (!value.is_object() && !value.is_array() && !value.is_null())
            table.add(
                {name.string(), value.is_string() ? value.string() : std::string(value.raw())});
        });
        print_text(table.text(colours_on(stdout)));
      });
}

int pause_queue(const Invocation& given) {
  return Session(given).show("POST", path_of("/ojs/v1/queues/", given.argument(0), "/pause"), "{}",
                             print_queue_state);
}
int resume_queue(const Invocation& given) {
  return Session(given).show("POST", path_of("/ojs/v1/queues/", given.argument(0), "/resume"), "{}",
                             print_queue_state);
}

// key=value pairs become members: numbers, true, false and other JSON as they are, anything else a
// string.
int config(const Invocation& given) {
  Session session(given);
  std::string path = path_of("/ojs/v1/admin/queues/", given.argument(0), "/config");
  auto print = [](json::View root) {
    root.find("config").value_or(queue_of(root)).each_member([](json::View name, json::View value) {
      print_text(printable(name.string()) + " = " + printable(value.raw()) + "\n");
    });
  };
  if (given.texts("--set").empty()) return session.show("GET", path, "", print);
  json::ObjectWriter w;
  for (const std::string& pair : given.texts("--set")) {
    size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0)
      return session.fail(
          {ErrorCode::InvalidRequest, "--set takes NAME=VALUE, not " + in_quotes(pair)});
    std::string value = pair.substr(equals + 1);
    w.key(pair.substr(0, equals));
    json::parse(value).ok() ? w.raw(value) : w.string(value);
  }
  return session.show("PUT", path, w.close(), print);
}

int purge(const Invocation& given) {
  Session session(given);
  if (!given.has("--yes"))
    return session.fail({ErrorCode::InvalidRequest,
                         "this removes every waiting job of the queue; say --yes to do it"});
  std::string body = "{\"confirm\":true";
  if (given.has("--state")) {
    body += ",\"state\":";
    json::append_quoted(body, given.text("--state"));
  }
  return session.show(
      "POST", path_of("/ojs/v1/admin/queues/", given.argument(0), "/purge"), body + "}",
      [](json::View root) { print_text(printable(member(root, "purged")) + " jobs removed\n"); });
}

}  // namespace

std::vector<Command> queue_commands() {
  return {
      remote("queues list", "list queues and how full they are", list_queues, {},
             {{"--limit", "N", "at most this many (100)"},
              {"--cursor", "CURSOR", "continue where the last page ended"}}),
      remote("queues stats", "figures of one queue", stats, {kQueueName}),
      remote("queues pause", "hand out no more jobs of it", pause_queue, {kQueueName}, {},
             "Pushing goes on; jobs in work are finished."),
      remote("queues resume", "end a pause", resume_queue, {kQueueName}),
      remote(
          "queues config", "show or change its settings", config, {kQueueName},
          {{"--set", "NAME=VALUE", "may be repeated"}},
          "Examples:\n  pawl queues config mail\n  pawl queues config mail --set max_depth=10000"),
      remote("queues purge", "remove the jobs that wait in it", purge, {kQueueName},
             {{"--yes", "", "yes, remove them"}, {"--state", "STATE", "only this state"}})};
}

}  // namespace pawl::cli
