// pawl worlds …: what one gives a world: events, a time, a step to try.
#include "base/base64.h"
#include "base/json_writer.h"
#include "base/quote.h"
#include "base/time.h"
#include "cli/given_inputs.h"
#include "cli/json_layout.h"
#include "cli/worlds.h"

namespace pawl::cli {
namespace {

constexpr size_t kEventBytesMax = 8u << 20;  // the server says what is too large

// JSON as it is written: numbers keep all their digits.
Result<std::string> json_argument(const std::string& text, const std::string& what) {
  std::string json = text;
  if (text == "-" || text.substr(0, 1) == "@") {
    PAWL_TRY(json, read_whole_file(text == "-" ? text : text.substr(1), kEventBytesMax));
  }
  if (auto doc = json::parse(json); !doc.ok())
    return Error{
        ErrorCode::InvalidRequest,
        what + " is no JSON: " + doc.error().message +
            (text.find('"') == std::string::npos ? "; text needs quotes: '\"text\"'" : "")};
  return json;
}

// --- events

Result<std::string> event_body(const Invocation& given) {
  PAWL_TRY(std::string value, json_argument(given.argument(2), "the event"));
  std::string body;
  json::Writer w(body);
  w.begin_object().field("schema", given.argument(1)).field_raw("value", value);
  if (given.has("--tagged")) w.field("lens", "tagged");
  if (given.has("--instance-key")) {
    const std::string key = given.text("--instance-key");
    if (json::parse(key).ok())
      w.field_raw("key", key);
    else
      w.field("key", key);
  }
  if (given.has("--client-id")) w.field("client_id", given.text("--client-id"));
  w.end_object();
  return body;
}

void print_event_reply(const Invocation& given, json::View root) {
  const std::string seq = printable(member(root, "seq"));
  if (member(root, "duplicate") == "true") print_text("this event was taken before\n");
  print_pair("seq", seq);
  print_pair("event", member(root, "event_hash"));
  Table table({"MODULE", "KEY", "STATE", "RUN"});
  std::string failed;
  each_of(root, "deliveries", [&](json::View one) {
    table.add({member(one, "module"), key_of(one), member(one, "outcome"), member(one, "run_id")});
    if (member(one, "outcome") == "failed") failed = member(one, "run_id");
  });
  print_text(table.empty() ? "no module has subscribed to it; it is kept in the journal\n"
                           : table.text(colours_on(stdout)));
  const std::string world = printable(given.argument(0));
  if (!failed.empty())
    print_text("Why: 'pawl worlds diagnose " + world + " " + printable(failed) + "'\n");
  else
    print_text("All that came of it: 'pawl worlds trace " + world + " " + seq + "'\n");
}

int send_event(const Invocation& given) {
  Session session(given);
  auto body = event_body(given);
  if (!body.ok()) return session.fail(body.error());
  return show_world(session, given, {"POST", world_path(given, "/events"), *body},
                    [&](json::View root) { print_event_reply(given, root); });
}

// --- the clock of a test world

int set_clock(const Invocation& given) {
  Session session(given);
  auto now_ns = given_time_ns(given.argument(1));
  if (!now_ns.ok()) return session.fail(now_ns.error());
  std::string body;
  json::Writer(body).begin_object().field_int("now_ns", *now_ns).end_object();
  return show_world(session, given, {"POST", world_path(given, "/clock"), body},
                    [](json::View root) {
                      print_text("the clock stands at " + time_of_ns(root, "now_ns") + " (" +
                                 printable(member(root, "now_ns")) + "); " +
                                 counted(count_of(root, "fired"), "timer") + " fired\n");
                    });
}

// --- one step, not journaled

void print_values(std::string_view title, json::View value) {
  if (!value.is_null()) print_text(std::string(title) + "\n" + laid_out_json(value.raw()) + "\n");
}

int print_step(json::View root) {
  if (auto failed = root.find("failed"); failed && failed->is_object()) {
    print_pair("failed", member(*failed, "code"), Colour::Red);
    print_pair("detail", member(*failed, "detail"));
    print_pair("fuel", member(root, "fuel"));
    return kRefused;
  }
  const std::string status = member(root, "status");
  print_pair("status", status, colour_of_state(status));
  print_pair("error", member(root, "error"), Colour::Red);
  print_pair("fuel", member(root, "fuel"));
  for (const char* name : {"state", "output"})
    if (auto value = root.find(name)) print_values(name, *value);
  Table events({"EVENT", "KEY", "VALUE"});
  each_of(root, "domain_events", [&](json::View one) {
    events.add({member(one, "schema"), key_of(one), member(one, "value")});
  });
  if (!events.empty()) print_text("\n" + events.text(colours_on(stdout)));
  Table effects({"EFFECT", "SLOT", "PARAMS"});
  each_of(root, "effects", [&](json::View one) {
    effects.add({member(one, "kind"), member(one, "cap_slot"), member(one, "params")});
  });
  if (!effects.empty()) print_text("\n" + effects.text(colours_on(stdout)));
  return kDone;
}

int try_step(const Invocation& given) {
  Session session(given);
  const std::string file = given.argument(1);
  auto body = json_argument(file == "-" ? file : "@" + file, file);
  if (!body.ok()) return session.fail(body.error());
  auto answer = ask_world(session, given, {"POST", world_path(given, "/step-test"), *body});
  if (!answer) return session.exit_code();
  if (!session.json()) return print_step(answer->root());
  print_text(*answer->text + "\n");
  return answer->root().find("failed") ? kRefused : kDone;
}

}  // namespace

Result<int64_t> given_time_ns(const std::string& text) {
  if (text.find_first_not_of("0123456789") == std::string::npos) {
    auto doc = json::parse(text);
    auto ns = doc.ok() ? doc->root().as_int() : std::nullopt;
    if (ns) return *ns;
  } else if (auto ms = parse_rfc3339(text); ms.ok() && *ms >= 0 && *ms <= INT64_MAX / 1'000'000) {
    return *ms * 1'000'000;
  }
  return Error{ErrorCode::InvalidRequest,
               "a time is nanoseconds since 1970, or RFC 3339, not " + in_quotes(text)};
}

std::vector<Command> world_input_commands() {
  return {
      remote(
          "worlds event", "send a world an event", send_event,
          {kWorldName,
           {"SCHEMA", "as com.acme/OrderEvent@1"},
           {"JSON", "its value; @FILE reads a file, - standard input"}},
          {{"--instance-key", "KEY", "of the instance; JSON if it can be, else text"},
           {"--client-id", "ID", "the same event with the same id is taken once"},
           {"--tagged", "", "the value names its types: {\"nat\": 42}"}},
          "Returns once the event and all that came of it are on disk.\n\nExample:\n  pawl worlds "
          "event orders com.acme/OrderEvent@1 '{\"Placed\": {\"order_id\": \"o-1\"}}'"),
      remote("worlds clock", "move the clock of a test world, and fire the timers that are due",
             set_clock,
             {kWorldName, {"NOW_NS", "nanoseconds since 1970, or RFC 3339; never back"}}),
      remote(
          "worlds step-test",
          "run one step of a module without journaling anything; exit 1 if it fails", try_step,
          {kWorldName, {"FILE", "the request as JSON; - reads standard input"}}, {},
          "FILE holds {module, state, event: {schema, value, key}, ctx}, or {module, input} for a "
          "pure module.")};
}

}  // namespace pawl::cli
