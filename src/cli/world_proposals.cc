// pawl worlds …: changes of a world's program that are tried before they are applied.
#include "base/json_writer.h"
#include "cli/given_inputs.h"
#include "cli/json_layout.h"
#include "cli/worlds.h"

namespace pawl::cli {
namespace {

constexpr size_t kShadowEventsBytesMax = 16u << 20;
constexpr int kShadowSilenceS = 3600;  // it steps up to --max-steps modules

std::string next_command(const Invocation& given, const char* verb, const std::string& id) {
  return "'pawl worlds " + std::string(verb) + " " + printable(given.argument(0)) + " " +
         printable(id) + "'";
}

void print_proposal(json::View proposal) {
  print_pair("proposal", member(proposal, "proposal_id"));
  print_pair("state", member(proposal, "state"));
  print_pair("manifest", member(proposal, "manifest_hash"));
  print_pair("base", member(proposal, "base"));
  print_pair("description", member(proposal, "description"));
}

// What can be done with a proposal in its state.
void print_next(const Invocation& given, json::View proposal) {
  const std::string state = member(proposal, "state");
  const std::string id = member(proposal, "proposal_id");
  if (state == "submitted") print_text("Try it with " + next_command(given, "shadow", id) + ".\n");
  if (state == "shadowed")
    print_text("Approve it with " + next_command(given, "approve", id) + ", or reject it.\n");
  if (state == "approved") print_text("Apply it with " + next_command(given, "apply", id) + ".\n");
}

void print_moved(const Invocation& given, json::View root) {
  json::View proposal = root.find("proposal").value_or(root);
  print_proposal(proposal);
  print_next(given, proposal);
}

int propose(const Invocation& given) {
  Session session(given);
  auto directory = read_world_directory(session, given.argument(1));
  if (!directory) return session.exit_code();
  std::string body = "{" + directory->members();
  json::Writer w(body);
  if (given.has("--base")) w.field("base", given.text("--base"));
  if (given.has("--description")) w.field("description", given.text("--description"));
  w.end_object();
  return show_world(session, given, {"POST", world_path(given, "/gov/propose"), body, &*directory},
                    [&](json::View root) { print_moved(given, root); });
}

std::string proposal_body(const Invocation& given) {
  std::string body;
  json::Writer(body).begin_object().field("proposal_id", given.argument(1)).end_object();
  return body;
}

int decide(const Invocation& given, std::string_view verb) {
  Session session(given);
  return show_world(session, given,
                    {"POST", world_path(given, "/gov/" + std::string(verb)), proposal_body(given)},
                    [&](json::View root) { print_moved(given, root); });
}
int approve_proposal(const Invocation& given) { return decide(given, "approve"); }
int reject_proposal(const Invocation& given) { return decide(given, "reject"); }

int apply_proposal(const Invocation& given) {
  Session session(given);
  return show_world(session, given, {"POST", world_path(given, "/gov/apply"), proposal_body(given)},
                    print_applied);
}

// --- reports of shadow runs

void print_deltas(json::View report) {
  auto deltas = report.find("deltas");
  if (!deltas) return;
  for (const char* list : {"defs", "caps", "policies"})
    each_of(*deltas, list, [&](json::View one) {
      const std::string change = member(one, "change");
      const char* sign = change == "added" ? "+ " : change == "removed" ? "- " : "~ ";
      print_text(std::string(sign) + printable(member(one, "name")) + "\n");
    });
  each_of(*deltas, "states", [&](json::View one) {
    const std::string before = short_hash(member(one, "before"));
    const std::string after = short_hash(member(one, "after"));
    print_text("~ state of " + printable(member(one, "module")) + " " + printable(key_of(one)) +
               ": " + (before.empty() ? "none" : printable(before)) + " → " +
               (after.empty() ? "none" : printable(after)) + "\n");
  });
}

void print_observed(json::View report) {
  const bool colours = colours_on(stdout);
  Table effects({"EFFECT", "DECISION", "CAPABILITY", "MODULE", "KEY", "PARAMS"});
  each_of(report, "observed_effects", [&](json::View one) {
    const std::string code = member(one, "code");
    effects.add({member(one, "kind"),
                 member(one, "decision") + (code.empty() ? "" : " (" + code + ")"),
                 member(one, "cap_name"), member(one, "module"), key_of(one),
                 member(one, "params").substr(0, 100)});
  });
  if (!effects.empty()) print_text("\n" + effects.text(colours));
  Table instances({"MODULE", "KEY", "STATE", "SEQ", "WAITS FOR"});
  each_of(report, "instances", [&](json::View one) {
    const int64_t inflight = count_of(one, "inflight");
    instances.add({member(one, "module"), key_of(one), member(one, "status"),
                   member(one, "last_seq"), inflight == 0 ? "" : counted(inflight, "intent")});
  });
  if (!instances.empty()) print_text("\n" + instances.text(colours));
  Table failures({"FAILED", "KEY", "CODE"});
  each_of(report, "failures", [&](json::View one) {
    failures.add({member(one, "module"), key_of(one), member(one, "code")});
  });
  if (!failures.empty()) print_text("\n" + failures.text(colours));
}

void print_report(json::View report) {
  print_pair("manifest", member(report, "manifest_hash"));
  print_pair("base", member(report, "base"));
  print_pair("at height", member(report, "at_height"));
  if (auto horizon = report.find("horizon"); horizon && horizon->is_object())
    print_pair("tried", counted(member_int(*horizon, "inputs"), "input") + ", " +
                            counted(member_int(*horizon, "steps"), "step") + ", fuel " +
                            member(*horizon, "fuel") + ", until " + member(*horizon, "stopped_by"));
  print_pair("pending", counted(count_of(report, "pending_receipts"), "receipt"));
  print_deltas(report);
  print_observed(report);
}

Result<std::string> shadow_body(const Invocation& given) {
  std::string body;
  json::Writer w(body);
  w.begin_object().field("proposal_id", given.argument(1));
  if (given.has("--events")) {
    PAWL_TRY(std::string events, read_whole_file(given.text("--events"), kShadowEventsBytesMax));
    auto doc = json::parse(events);
    if (!doc.ok() || !doc->root().is_array())
      return Error{ErrorCode::InvalidRequest, given.text("--events") +
                                                  " holds an array of events as JSON" +
                                                  (doc.ok() ? "" : ": " + doc.error().message)};
    w.field_raw("events", events);
  }
  for (const auto& [option, name] :
       {std::pair{"--from-seq", "from_seq"}, {"--max-steps", "max_steps"}}) {
    PAWL_TRY(std::string number, given_json(given, option));
    if (!number.empty()) w.field_raw(name, number);
  }
  w.end_object();
  return body;
}

int shadow(const Invocation& given) {
  Session session(given, kShadowSilenceS);
  auto body = shadow_body(given);
  if (!body.ok()) return session.fail(body.error());
  return show_world(
      session, given, {"POST", world_path(given, "/gov/shadow"), *body}, [&](json::View root) {
        print_report(root.find("report").value_or(root));
        const std::string id = given.argument(1);
        print_text("\nNothing was changed. Approve it with " + next_command(given, "approve", id) +
                   ", or reject it with " + next_command(given, "reject", id) + ".\n");
      });
}

int list_proposals(const Invocation& given) {
  Session session(given);
  if (const std::string id = given.argument(1); !id.empty()) {
    const std::string path = world_path(given, "/gov/get") + query_of({{"proposal_id", id}});
    return show_world(session, given, {"GET", path}, [&](json::View root) {
      print_moved(given, root);
      if (auto report = root.find("report"); report && report->is_object()) {
        print_text("\n");
        print_report(*report);
      }
    });
  }
  const std::string query =
      query_of({{"limit", given.text("--limit", "100")}, {"cursor", given.text("--cursor")}});
  return show_world(
      session, given, {"GET", world_path(given, "/gov/list") + query}, [](json::View root) {
        Table table({"PROPOSAL", "STATE", "MANIFEST", "BASE", "DESCRIPTION"});
        each_of(root, "proposals", [&](json::View one) {
          table.add({member(one, "proposal_id"), member(one, "state"),
                     short_hash(member(one, "manifest_hash")), short_hash(member(one, "base")),
                     member(one, "description")});
        });
        print_text(table.empty() ? "no proposals; 'pawl worlds propose NAME DIR' makes one\n"
                                 : table.text(colours_on(stdout)));
        print_more(root);
      });
}

const Parameter kProposalId{"ID", "the proposal's id, as p12"};

}  // namespace

std::vector<Command> world_proposal_commands() {
  return {
      remote("worlds propose", "propose a folder as a world's next program", propose,
             {kWorldName, kWorldDir},
             {{"--base", "HASH", "the manifest it was made for; applied only while that is live"},
              {"--description", "TEXT", "for people"}},
             "Then: shadow, approve, apply."),
      remote("worlds proposals", "list proposals, or show one with the report of its shadow run",
             list_proposals, {kWorldName, {"ID", "of the proposal to show", false}},
             {kWorldLimit, kWorldCursor}),
      remote("worlds shadow", "run a proposal on a copy of the world, and report", shadow,
             {kWorldName, kProposalId},
             {{"--events", "FILE",
               "events to try: an array of {schema, value, key} as JSON; - reads "
               "standard input"},
              {"--from-seq", "SEQ",
               "copy the world as it was before this frame, and give it again what "
               "came since"},
              {"--max-steps", "N", "stop after this many steps (1000)"}},
             "Nothing is leased, fired or journaled but the report."),
      remote("worlds approve", "approve a proposal that was tried", approve_proposal,
             {kWorldName, kProposalId}),
      remote("worlds reject", "reject a proposal", reject_proposal, {kWorldName, kProposalId}),
      remote("worlds apply", "make an approved proposal the world's program", apply_proposal,
             {kWorldName, kProposalId}, {}, "Refused while an instance or an effect is open.")};
}

}  // namespace pawl::cli
