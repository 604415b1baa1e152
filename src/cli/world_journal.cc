// pawl worlds journal, watch, trace and diagnose: what happened in a world, and why.
#include "cli/world_journal.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <thread>

#include "base/quote.h"
#include "cli/world_records.h"
#include "cli/worlds.h"

namespace pawl::cli {
namespace {

constexpr std::chrono::milliseconds kWatchPauseFirst{100};
constexpr std::chrono::milliseconds kWatchPauseMost{1000};

Result<uint64_t> given_seq(const std::string& text, const std::string& what) {
  uint64_t seq = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), seq);
  if (read.ec == std::errc() && read.ptr == text.data() + text.size()) return seq;
  return Error{ErrorCode::InvalidRequest, what + " takes a seq, not " + in_quotes(text)};
}

void print_entries(json::View root, std::string_view list) {
  const bool colours = colours_on(stdout);
  each_of(root, list, [&](json::View entry) { print_text(world_record_line(entry, colours)); });
}

int show_journal(const Invocation& given) {
  Session session(given);
  const std::string query = query_of({{"from", given.text("--from")},
                                      {"kinds", given.text("--kinds")},
                                      {"limit", given.text("--limit", "100")},
                                      {"cursor", given.text("--cursor")}});
  return show_world(session, given, {"GET", world_path(given, "/journal") + query},
                    [](json::View root) {
                      print_entries(root, "entries");
                      print_more(root);
                    });
}

// --- watching

// Where a watch goes on: with the next page, or with a seq.
struct WatchPlace {
  uint64_t from = 1;
  std::string cursor;
};

// Prints one page. False: there was none.
bool print_page(Session& session, json::View root, WatchPlace& place) {
  auto entries = root.find("entries");
  const bool any = entries && entries->size() > 0;
  if (any && session.json())
    entries->each_element([](json::View entry) { print_text(std::string(entry.raw()) + "\n"); });
  if (any && !session.json()) print_entries(root, "entries");
  std::fflush(stdout);
  place.cursor = member(root, "next_cursor");
  if (any)
    entries->each_element([&](json::View entry) {
      place.from = std::max(place.from, static_cast<uint64_t>(member_int(entry, "seq")) + 1);
    });
  // What --kinds left out has been looked at, too.
  if (place.cursor.empty())
    place.from = std::max(place.from, static_cast<uint64_t>(member_int(root, "head")) + 1);
  return any;
}

int watch(const Invocation& given) {
  Session session(given);
  uint64_t from = 0;
  if (given.has("--from")) {
    auto seq = given_seq(given.text("--from"), "--from");
    if (!seq.ok()) return session.fail(seq.error());
    from = std::max<uint64_t>(*seq, 1);
  }
  return watch_world(session, given, from, [](int idle) {
    std::this_thread::sleep_for(std::min(kWatchPauseFirst * (idle + 1), kWatchPauseMost));
    return true;
  });
}

// --- traces

Result<std::string> trace_query(const Invocation& given) {
  const std::string seq = given.argument(1);
  int parts = 0;
  for (const char* option : {"--schema", "--by", "--value"}) parts += given.has(option) ? 1 : 0;
  if (seq.empty() ? parts != 3 : parts != 0)
    return Error{ErrorCode::InvalidRequest,
                 "say what to trace: a SEQ, or --schema, --by and --value together"};
  if (!seq.empty()) {
    PAWL_TRY_DO(given_seq(seq, "trace"));
    return query_of({{"seq", seq}});
  }
  return query_of({{"schema", given.text("--schema")},
                   {"correlate_by", given.text("--by")},
                   {"value", given.text("--value")}});
}

void print_trace(json::View root) {
  print_entries(root, "chain");
  const std::string state = member(root, "terminal_state");
  const bool failed = state == "failed";
  print_text("\n");
  print_pair("state", state, failed ? Colour::Red : colour_of_state(state));
  each_of(root, "live_wait", [](json::View one) {
    print_pair("waits for",
               member(one, "effect_kind") + " " + short_hash(member(one, "intent_hash")));
  });
}

int trace(const Invocation& given) {
  Session session(given);
  auto query = trace_query(given);
  if (!query.ok()) return session.fail(query.error());
  return show_world(session, given, {"GET", world_path(given, "/trace") + *query}, print_trace);
}

int diagnose(const Invocation& given) {
  Session session(given);
  const std::string path =
      world_path(given, "/trace/diagnose") + query_of({{"run_id", given.argument(1)}});
  return show_world(session, given, {"GET", path}, [&](json::View root) {
    print_pair("cause", member(root, "cause"));
    print_pair("detail", member(root, "detail"));
    std::string last;
    each_of(root, "evidence", [&](json::View one) {
      last = member(one, "seq");
      print_pair("record", last + "." + member(one, "n"));
    });
    if (!last.empty())
      print_text("'pawl worlds journal " + printable(given.argument(0)) + " --from " +
                 printable(last) + "' shows it.\n");
  });
}

}  // namespace

int watch_world(Session& session, const Invocation& given, uint64_t from,
                FunctionRef<bool(int idle)> wait) {
  WatchPlace place{from, ""};
  if (from == 0) {
    auto answer = ask_world(session, given, {"GET", world_path(given)});
    if (!answer) return session.exit_code();
    const json::View world = answer->root().find("world").value_or(answer->root());
    place.from = static_cast<uint64_t>(member_int(world, "height")) + 1;
  }
  bool reached = from == 0;
  for (int idle = 0;;) {
    const bool paged = !place.cursor.empty();
    auto reply =
        session.call("GET", world_path(given, "/journal") +
                                query_of({{"from", paged ? "" : std::to_string(place.from)},
                                          {"kinds", given.text("--kinds")},
                                          {"limit", "1000"},
                                          {"cursor", place.cursor}}));
    const bool gone = !reply.ok() || reply->status == 503;
    bool any = false;
    if (!gone || !reached) {
      auto answer = session.read(std::move(reply));
      if (!answer) return session.exit_code();
      reached = true;
      any = print_page(session, answer->root(), place);
    }
    if (any) idle = 0;
    if (!gone && !place.cursor.empty()) continue;
    if (!wait(idle++)) return kDone;
  }
}

std::vector<Command> world_journal_commands() {
  return {
      remote("worlds journal", "list the records of a world's journal", show_journal, {kWorldName},
             {{"--from", "SEQ", "the first frame to show (1)"},
              {"--kinds", "KINDS", "only these, as step_failed,receipt_fault"},
              kWorldLimit,
              kWorldCursor},
             "Each line begins with the frame's seq and the record's number in it. The first "
             "record of a "
             "frame has its time."),
      remote("worlds watch", "follow a world's journal until Ctrl-C", watch, {kWorldName},
             {{"--from", "SEQ", "begin with this frame, by default with the next one"},
              {"--kinds", "KINDS", "only these, as domain_event,effect_receipt"}},
             "With --json each line is an entry of the journal."),
      remote("worlds trace", "all that came of an event, receipts included", trace,
             {kWorldName, {"SEQ", "the event's", false}},
             {{"--schema", "SCHEMA", "instead of SEQ: an event of this schema"},
              {"--by", "PATH", "of --schema: a member of its value, as $value.order_id"},
              {"--value", "VALUE", "of --schema: what stands there"}},
             "Examples:\n  pawl worlds trace orders 12\n  pawl worlds trace orders --schema "
             "com.acme/OrderEvent@1 --by '$value.order_id' --value o-1"),
      remote("worlds diagnose", "why an instance stands where it stands", diagnose,
             {kWorldName, {"RUN", "the instance's run id, as 'pawl worlds instances' lists it"}})};
}

}  // namespace pawl::cli
