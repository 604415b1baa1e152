// pawl cron …
#include "base/json_writer.h"
#include "base/quote.h"
#include "cli/command.h"
#include "cli/session.h"
#include "cli/terminal.h"

namespace pawl::cli {
namespace {

constexpr const char* kCron = "/ojs/v1/cron";
const Parameter kCronName{"NAME", "its name"};

json::View cron_of(json::View root) { return root.find("cron").value_or(root); }

void print_cron(json::View root) {
  json::View cron = cron_of(root);
  std::string line = printable(member(cron, "name")) + ": " + printable(member(cron, "expression"));
  std::string zone = member(cron, "timezone");
  if (!zone.empty()) line += " (" + printable(zone) + ")";
  std::string next = member(cron, "next_run_at");
  line += member(cron, "enabled") == "false" ? ", paused"
          : next.empty()                     ? ""
                                             : ", next " + printable(next);
  print_text(line + "\n");
}

int list_crons(const Invocation& given) {
  return Session(given).show("GET", kCron, "", [](json::View root) {
    Table table({"NAME", "EXPRESSION", "ZONE", "STATE", "NEXT", "LAST"});
    auto crons = root.find("crons");
    if (crons)
      crons->each_element([&](json::View cron) {
        table.add({member(cron, "name"), member(cron, "expression"), member(cron, "timezone"),
                   member(cron, "enabled") == "false" ? "paused" : "running",
                   member(cron, "next_run_at"), member(cron, "last_run_at")});
      });
    if (table.empty()) return print_text("nothing is scheduled\n");
    print_text(table.text(colours_on(stdout)));
  });
}

int put_cron(const Invocation& given) {
  Session session(given);
  std::string args = given.text("--args", "[]");
  if (auto doc = json::parse(args); !doc.ok())
    return session.fail({ErrorCode::InvalidRequest, "--args takes JSON, not " + in_quotes(args)});
  json::ObjectWriter w;
  w.field("name", given.argument(0)).field("expression", given.argument(1));
  if (given.has("--timezone")) w.field("timezone", given.text("--timezone"));
  if (given.has("--overlap")) w.field("overlap_policy", given.text("--overlap"));
  w.key("job_template").begin_object().field("type", given.argument(2)).field_raw("args", args);
  if (given.has("--queue"))
    w.key("options").begin_object().field("queue", given.text("--queue")).end_object();
  w.end_object();
  return session.show("POST", kCron, w.close(), print_cron);
}

int remove_cron(const Invocation& given) {
  return Session(given).show(
      "DELETE", path_of("/ojs/v1/cron/", given.argument(0)), "",
      [&](json::View) { print_text(printable(given.argument(0)) + " deleted\n"); });
}

int act(const Invocation& given, std::string_view verb) {
  return Session(given).show(
      "POST", path_of("/ojs/v1/cron/", given.argument(0), verb), "{}", [&](json::View root) {
        if (auto job = root.find("job"))
          return print_text("pushed job " + printable(member(*job, "id")) + "\n");
        print_cron(root);
      });
}
int trigger_cron(const Invocation& given) { return act(given, "/trigger"); }
int pause_cron(const Invocation& given) { return act(given, "/pause"); }
int resume_cron(const Invocation& given) { return act(given, "/resume"); }

}  // namespace

std::vector<Command> cron_commands() {
  return {
      remote("cron list", "list what is scheduled", list_crons),
      remote(
          "cron put", "schedule a job, or change its schedule", put_cron,
          {kCronName,
           {"EXPRESSION", "five fields, or @daily and the like"},
           {"TYPE", "of the jobs"}},
          {{"--args", "JSON", "of the jobs, by default []"},
           {"--queue", "NAME", "of the jobs"},
           {"--timezone", "ZONE", "such as Europe/Vienna, by default UTC"},
           {"--overlap", "POLICY", "if the previous job still runs",
            "skip allow cancel_previous enqueue"}},
          "Example:\n  pawl cron put nightly '0 3 * * *' report.nightly --timezone Europe/Vienna"),
      remote("cron delete", "end a schedule", remove_cron, {kCronName}),
      remote("cron trigger", "push its job now, in addition to its schedule", trigger_cron,
             {kCronName}),
      remote("cron pause", "push nothing until resumed", pause_cron, {kCronName}),
      remote("cron resume", "end a pause", resume_cron, {kCronName})};
}

}  // namespace pawl::cli
