// pawl decisions …: questions of runs to people and agents.
#include "base/json_writer.h"
#include "cli/command.h"
#include "cli/given_inputs.h"
#include "cli/session.h"
#include "cli/terminal.h"

namespace pawl::cli {
namespace {

std::string options_of(json::View context) {
  std::string all;
  if (auto options = context.find("options"); options && options->is_array())
    options->each_element([&](json::View option) {
      std::string id = option.is_string() ? option.string() : member(option, "id");
      all += (all.empty() ? "" : ", ") + id;
    });
  return all.empty() ? "any text" : all;
}

int list_decisions(const Invocation& given) {
  std::string query =
      query_of({{"status", given.has("--all") ? "" : given.text("--status", "pending")},
                {"run_id", given.text("--run")},
                {"target_agent", given.text("--agent")},
                {"limit", given.text("--limit", "50")},
                {"cursor", given.text("--cursor")}});
  return Session(given).show("GET", "/v1/decisions" + query, "", [](json::View root) {
    bool any = false;
    if (auto all = root.find("decisions"))
      all->each_element([&](json::View decision) {
        json::View context = decision.find("context").value_or(decision);
        if (any) print_text("\n");
        any = true;
        print_pair("id", member(decision, "id"));
        print_pair("run", member(decision, "run_id") + "  step " + member(decision, "step_id"));
        print_pair("status", member(decision, "status"));
        print_pair("asks", member(context, "prompt_context"));
        print_pair("choices", options_of(context));
        print_pair("for", member(decision, "target_agent"));
        print_pair("until", member(decision, "expires_at"));
        if (auto answer = decision.find("answer"); answer && answer->is_object())
          print_pair("chosen", member(*answer, "choice"));
      });
    if (!any) print_text("nothing is to be decided\n");
    print_more(root);
  });
}

int resolve(const Invocation& given) {
  Session session(given);
  auto data = given_json(given, "--data");
  if (!data.ok()) return session.fail(data.error());
  json::ObjectWriter w;
  w.field("choice", given.argument(1));
  if (given.has("--reason")) w.field("reasoning", given.text("--reason"));
  if (given.has("--by")) w.field("resolved_by", given.text("--by"));
  if (!data->empty()) w.field_raw("data", *data);
  return session.show("POST", path_of("/v1/decisions/", given.argument(0)), w.close(),
                      [&](json::View root) {
                        json::View decision = root.find("decision").value_or(root);
                        print_text(printable(member(decision, "step_id")) + ": " +
                                   printable(given.argument(1)) + "\n");
                      });
}

}  // namespace

std::vector<Command> decision_commands() {
  return {remote("decisions list", "list open decisions", list_decisions, {},
                 {{"--all", "", "also decisions that were made"},
                  {"--status", "STATUS", "only this status (pending)",
                   "pending resolved timed_out cancelled"},
                  {"--run", "ID", "only of this run"},
                  {"--agent", "NAME", "only for this agent"},
                  {"--limit", "N", "at most this many"},
                  {"--cursor", "CURSOR", "continue where the last page ended"}}),
          remote("decisions resolve", "decide", resolve,
                 {{"ID", "the decision's id"}, {"CHOICE", "one of its options, or any text"}},
                 {{"--data", "JSON", "more data for the run"},
                  {"--reason", "TEXT", "why"},
                  {"--by", "NAME", "who decides"}})};
}

}  // namespace pawl::cli
