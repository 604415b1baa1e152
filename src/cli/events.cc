// pawl events: past and live events.
#include <chrono>
#include <thread>

#include "cli/command.h"
#include "cli/event_stream.h"
#include "cli/session.h"
#include "cli/terminal.h"

namespace pawl::cli {
namespace {

void print_event(json::View event, bool colours) {
  std::string type = member(event, "type");
  std::string line =
      painted(printable(member(event, "time")), Colour::Grey, colours) + "  " + printable(type);
  if (std::string subject = member(event, "subject"); !subject.empty())
    line += "  " + printable(subject);
  if (auto data = event.find("data"); data && data->is_object())
    for (const char* name : {"job_type", "queue", "attempt"})
      if (std::string value = member(*data, name); !value.empty())
        line += std::string("  ") + name + "=" + printable(value);
  print_text(line + "\n");
}

std::string query(const Invocation& given, bool follow) {
  return query_of({{"types", given.text("--types")},
                   {"queues", given.text("--queue")},
                   {"limit", follow ? "" : given.text("--limit", "100")},
                   {"after", given.text("--after")}});
}

int past(const Invocation& given) {
  bool colours = colours_on(stdout);
  return Session(given).show(
      "GET", "/ojs/v1/events" + query(given, false), "", [&](json::View root) {
        auto show_events = root.find("events");
        if (show_events)
          show_events->each_element([&](json::View event) { print_event(event, colours); });
        if (member(root, "has_more") == "true")
          print_text("more: --after " + printable(member(root, "cursor")) + "\n");
      });
}

// If the server restarts, the stream continues after the last event seen.
int follow(const Invocation& given) {
  Session session(given);
  bool colours = colours_on(stdout);
  std::string last_id;
  EventStream show_events([&](const ServerEvent& event) {
    if (!event.id.empty()) last_id = event.id;
    if (event.data.empty()) return;
    auto doc = json::parse(event.data);
    if (session.json() || !doc.ok()) {
      print_text((session.json() ? event.data : printable(event.data)) + "\n");
    } else {
      print_event(doc->root(), colours);
    }
    std::fflush(stdout);
  });
  for (bool connected_once = false;; connected_once = true) {
    show_events.reset();
    auto reply = session.stream(
        "/ojs/v1/events" + query(given, true),
        [&](std::string_view piece) {
          connected_once = true;
          show_events.feed(piece);
          return true;
        },
        last_id);
    if (reply.ok() && reply->status / 100 != 2) return session.refuse(*reply);
    if (!reply.ok() && !connected_once) return session.fail(reply.error());
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

int show_events(const Invocation& given) {
  return given.has("--follow") ? follow(given) : past(given);
}

}  // namespace

std::vector<Command> event_commands() {
  return {
      remote("events", "list events of jobs", show_events, {},
             {{"--follow", "", "follow new events until Ctrl-C"},
              {"--types", "TYPES", "only these, as job.completed,job.failed"},
              {"--queue", "NAME", "only of this queue"},
              {"--limit", "N", "at most this many (100)"},
              {"--after", "CURSOR", "continue where the last page ended"}},
             "Examples:\n  pawl events --follow --types job.failed,job.discarded\n  pawl events "
             "--limit 20 --json")};
}

}  // namespace pawl::cli
