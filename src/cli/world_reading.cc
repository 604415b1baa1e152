// pawl worlds …: a world's instances, effects and states as they are now.
#include <map>

#include "base/json_writer.h"
#include "cli/json_layout.h"
#include "cli/worlds.h"

namespace pawl::cli {
namespace {

constexpr int kReplaySilenceS = 24 * 3600;  // a long journal takes its time, and says nothing
constexpr size_t kSinceLookupsMax = 32;

// --- instances

// "payment.charge, timer.set ×2"
std::string waits_for(json::View instance) {
  std::map<std::string, int> kinds;
  each_of(instance, "inflight", [&](json::View one) { ++kinds[member(one, "effect_kind")]; });
  std::string text;
  for (const auto& [kind, times] : kinds)
    text += (text.empty() ? "" : ", ") + kind + (times > 1 ? " ×" + std::to_string(times) : "");
  return text;
}

// What an instance waits for, or why it failed.
std::string condition_of(json::View instance) {
  if (auto error = instance.find("error"); error && error->is_object()) {
    const std::string detail = member(*error, "detail");
    return member(*error, "code") + (detail.empty() ? "" : ": " + detail.substr(0, 100));
  }
  return waits_for(instance);
}

int list_instances(const Invocation& given) {
  Session session(given);
  const std::string query = query_of({{"module", given.text("--module")},
                                      {"key", given.text("--instance-key")},
                                      {"status", given.text("--status")},
                                      {"limit", given.text("--limit", "100")},
                                      {"cursor", given.text("--cursor")}});
  return show_world(
      session, given, {"GET", world_path(given, "/instances") + query}, [](json::View root) {
        Table table({"MODULE", "KEY", "STATE", "SEQ", "WAITS FOR", "RUN"});
        each_of(root, "instances", [&](json::View one) {
          table.add({member(one, "module"), key_of(one), member(one, "status"),
                     member(one, "last_seq"), condition_of(one), member(one, "run_id")});
        });
        print_text(table.empty() ? "no instances\n" : table.text(colours_on(stdout)));
        print_more(root);
      });
}

// --- effects

// When the frame with this seq was written, from the stamp of its first record.
std::string time_of_frame(Session& session, const Invocation& given, const std::string& seq) {
  auto reply = session.call(
      "GET", world_path(given, "/journal") + query_of({{"from", seq}, {"limit", "1"}}));
  if (!reply.ok() || reply->status != 200) return "";
  auto doc = json::parse(reply->body);
  if (!doc.ok()) return "";
  std::string time;
  each_of(doc->root(), "entries", [&](json::View entry) {
    auto record = entry.find("record");
    auto stamp = record ? record->find("stamp") : std::nullopt;
    if (member(entry, "seq") == seq && stamp) time = time_of_ns(*stamp, "now_ns");
  });
  return time;
}

std::string origin_text(json::View effect) {
  auto origin = effect.find("origin");
  if (!origin || !origin->is_object()) return "";
  const std::string kind = member(*origin, "kind");
  return kind == "workflow" ? member(*origin, "name") : kind;
}

std::string progress_text(json::View effect) {
  if (auto receipt = effect.find("receipt"); receipt && receipt->is_object())
    return member(*receipt, "status") + " from " + member(*receipt, "adapter_id");
  if (auto lease = effect.find("lease"); lease && lease->is_object())
    return member(*lease, "adapter_id") + " until " + member(*lease, "until");
  return "";
}

void print_effects(Session& session, const Invocation& given, json::View root) {
  Table table({"EFFECT", "STATE", "ORIGIN", "SEQ", "SINCE", "INTENT", "ADAPTER"});
  std::map<std::string, std::string> since;  // by seq
  each_of(root, "effects", [&](json::View one) {
    auto origin = one.find("origin");
    const std::string seq = origin ? member(*origin, "emitted_at_seq") : "";
    if (!seq.empty() && since.count(seq) == 0 && since.size() < kSinceLookupsMax)
      since[seq] = time_of_frame(session, given, seq);
    table.add({member(one, "kind"), member(one, "state"), origin_text(one), seq,
               since.count(seq) != 0 ? since[seq] : "", short_hash(member(one, "intent_hash")),
               progress_text(one)});
  });
  print_text(table.empty() ? "no effects\n" : table.text(colours_on(stdout)));
  print_more(root);
}

int list_effects(const Invocation& given) {
  Session session(given);
  const std::string query = query_of({{"state", given.text("--state")},
                                      {"module", given.text("--module")},
                                      {"key", given.text("--instance-key")},
                                      {"limit", given.text("--limit", "100")},
                                      {"cursor", given.text("--cursor")}});
  return show_world(session, given, {"GET", world_path(given, "/effects") + query},
                    [&](json::View root) { print_effects(session, given, root); });
}

// --- states and digests

int get_state(const Invocation& given) {
  Session session(given);
  const std::string path = path_of(world_path(given, "/state/"), given.argument(1)) +
                           query_of({{"key", given.argument(2)}});
  return show_world(session, given, {"GET", path}, [](json::View root) {
    if (auto meta = root.find("meta"); meta && meta->is_object()) {
      const std::string status = member(*meta, "status");
      print_pair("status", status, colour_of_state(status));
      print_pair("last seq", member(*meta, "last_seq"));
      print_pair("height", member(*meta, "height"));
    }
    print_pair("state", member(root, "state_hash"));
    print_text(laid_out_json(member(root, "state")) + "\n");
  });
}

void print_digest(json::View root) {
  print_pair("height", member(root, "height"));
  print_pair("manifest", member(root, "manifest_hash"));
  print_pair("states", member(root, "state_root"));
  print_pair("instances", member(root, "instances_root"));
  print_pair("intents", member(root, "queue_root"));
}

int get_digest(const Invocation& given) {
  Session session(given);
  return show_world(session, given, {"GET", world_path(given, "/digest")}, print_digest);
}

int take_snapshot(const Invocation& given) {
  Session session(given);
  return show_world(session, given, {"POST", world_path(given, "/snapshot"), "{}"},
                    [](json::View root) {
                      print_pair("height", member(root, "height"));
                      print_pair("snapshot", member(root, "snapshot_ref"));
                    });
}

int replay(const Invocation& given) {
  Session session(given, kReplaySilenceS);
  std::string body;
  json::Writer(body).begin_object().field("from", given.text("--from", "genesis")).end_object();
  return show_world(session, given, {"POST", world_path(given, "/replay"), body},
                    [](json::View root) {
                      print_text(counted(member_int(root, "frames"), "frame") +
                                 " replayed from disk; every record is the same\n");
                      print_digest(root);
                    });
}

// --- the summary

// "3 allowed, 1 denied": each count with its word.
using CountWords = std::vector<std::pair<const char*, const char*>>;  // member, word
std::string counts_text(json::View holder, const CountWords& words) {
  std::string text;
  for (const auto& [name, word] : words)
    text += (text.empty() ? "" : ", ") + std::to_string(count_of(holder, name)) + " " + word;
  return text;
}

void print_totals(json::View totals) {
  const json::View effects = totals.find("effects").value_or(totals);
  print_pair("steps", member(totals, "steps") + ", " + member(totals, "step_failures") + " failed");
  print_pair("effects", counted(count_of(effects, "intents"), "intent") + ", " +
                            counted(count_of(effects, "faults"), "fault"));
  print_pair("receipts", counts_text(effects.find("receipts").value_or(totals),
                                     {{"ok", "ok"}, {"error", "error"}, {"timeout", "timeout"}}));
  for (const auto& [shown, name] :
       {std::pair{"capabilities", "cap_decisions"}, {"policy", "policy_decisions"}})
    print_pair(shown, counts_text(totals.find(name).value_or(totals),
                                  {{"allow", "allowed"}, {"deny", "denied"}}));
  print_pair("instances",
             counts_text(totals.find("workflows").value_or(totals), {{"total", "in all"},
                                                                     {"running", "running"},
                                                                     {"waiting", "waiting"},
                                                                     {"completed", "completed"},
                                                                     {"failed", "failed"}}));
  print_pair("proposals",
             counts_text(totals.find("governance").value_or(totals), {{"proposed", "proposed"},
                                                                      {"shadowed", "shadowed"},
                                                                      {"approved", "approved"},
                                                                      {"rejected", "rejected"},
                                                                      {"applied", "applied"}}));
}

void print_continuations(json::View root) {
  Table table({"MODULE", "KEY", "WAITS FOR", "INTENT", "SEQ", "RUN"});
  each_of(root, "continuations", [&](json::View one) {
    table.add({member(one, "module"), key_of(one), member(one, "effect_kind"),
               short_hash(member(one, "intent_hash")), member(one, "emitted_at_seq"),
               member(one, "run_id")});
  });
  if (!table.empty()) print_text("\n" + table.text(colours_on(stdout)));
}

void print_summary(json::View root) {
  print_pair("height", member(root, "height"));
  if (auto totals = root.find("totals"); totals && totals->is_object()) print_totals(*totals);
  if (auto wait = root.find("runtime_wait"); wait && wait->is_object())
    print_pair("waits for", counted(count_of(*wait, "pending_receipts"), "receipt") + ", " +
                                counted(count_of(*wait, "queued_effects"), "effect") + " queued");
  if (auto quiet = root.find("strict_quiescence"); quiet && quiet->is_object()) {
    const int64_t instances = count_of(*quiet, "non_terminal_instances");
    const int64_t intents = count_of(*quiet, "inflight_intents");
    const int64_t queued = count_of(*quiet, "queued_work");
    const bool is_quiet = instances + intents + queued == 0;
    print_pair("quiet",
               is_quiet ? "yes: a program can be applied"
                        : "no: " + counted(instances, "open instance") + ", " +
                              counted(intents, "open intent") + ", " + std::to_string(queued) +
                              " queued",
               is_quiet ? Colour::Green : Colour::Yellow);
  }
  print_continuations(root);
}

int get_summary(const Invocation& given) {
  Session session(given);
  return show_world(session, given, {"GET", world_path(given, "/trace-summary")}, print_summary);
}

const Option kOfModule{"--module", "MODULE", "only of this module"};
const Option kOfKey{"--instance-key", "KEY", "only of the instance with this key"};

}  // namespace

std::vector<Command> world_reading_commands() {
  return {
      remote("worlds instances", "list instances of modules, and what they wait for",
             list_instances, {kWorldName},
             {kOfModule,
              kOfKey,
              {"--status", "STATUS", "only with this status", "running waiting completed failed"},
              kWorldLimit,
              kWorldCursor},
             "An instance is a run: 'pawl runs retry RUN' gives a failed one the same input again, "
             "'pawl runs cancel RUN' ends one."),
      remote("worlds effects", "list effects, by default those that are open", list_effects,
             {kWorldName},
             {{"--state", "STATE", "queued, inflight or settled", "queued inflight settled"},
              kOfModule,
              kOfKey,
              kWorldLimit,
              kWorldCursor}),
      remote("worlds state", "show the state of an instance", get_state,
             {kWorldName,
              {"MODULE", "as com.acme/order_workflow@1"},
              {"KEY", "of the instance, if the module has keys", false}}),
      remote("worlds digest", "hashes of all states, instances and open intents", get_digest,
             {kWorldName}),
      remote("worlds snapshot", "write a snapshot, from which replays can begin", take_snapshot,
             {kWorldName}),
      remote("worlds replay", "derive every record again from disk, and compare", replay,
             {kWorldName},
             {{"--from", "START", "genesis or baseline: the last snapshot (genesis)",
               "genesis baseline"}}),
      remote("worlds summary", "what a world did, what it waits for, and whether it is quiet",
             get_summary, {kWorldName})};
}

}  // namespace pawl::cli
