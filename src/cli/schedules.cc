// pawl schedules …: definitions and jobs that start by the clock, repeatedly or once.
#include "base/json_writer.h"
#include "base/quote.h"
#include "cli/command.h"
#include "cli/given_inputs.h"
#include "cli/session.h"
#include "cli/terminal.h"

namespace pawl::cli {
namespace {

constexpr const char* kSchedules = "/v1/schedules";
const Parameter kScheduleName{"NAME", "its name"};

std::string schedule_path(const Invocation& given, std::string_view after = "") {
  return path_of("/v1/schedules/", given.argument(0), after);
}

json::View schedule_of(json::View root) { return root.find("schedule").value_or(root); }

std::string when_of(json::View schedule) {
  for (const char* name : {"cron", "every", "at"})
    if (std::string value = member(schedule, name); !value.empty())
      return (name == std::string_view("cron") ? "" : std::string(name) + " ") + value;
  return "";
}

std::string what_of(json::View schedule) {
  std::string definition = member(schedule, "definition");
  if (!definition.empty()) return definition;
  auto job = schedule.find("job");
  return job && job->is_object() ? "job " + member(*job, "type") : "";
}

std::string schedule_state(json::View schedule) {
  return member(schedule, "paused") == "true" ? "paused" : "active";
}

void print_schedule(json::View root) {
  json::View schedule = schedule_of(root);
  print_pair("name", member(schedule, "name"));
  print_pair("starts", what_of(schedule));
  print_pair("when", when_of(schedule));
  print_pair("state", schedule_state(schedule), colour_of_state(schedule_state(schedule)));
  for (const char* name : {"timezone", "overlap", "jitter", "inputs", "next_at", "last_at",
                           "last_run_id", "last_job_id", "last_status", "last_error", "source"})
    print_pair(name, member(schedule, name));
}

void print_triggered(json::View root) {
  std::string run = member(root, "run_id");
  std::string job = member(root, "job_id");
  print_text(!run.empty()   ? "started run " + printable(run) + "\n"
             : !job.empty() ? "started job " + printable(job) + "\n"
                            : "nothing was started\n");
}

// Exactly one target and exactly one time.
Status check_put(const Invocation& given) {
  if (given.has("--definition") == given.has("--job"))
    return Error{ErrorCode::InvalidRequest, "say what starts: --definition or --job"};
  int times = 0;
  for (const char* option : {"--cron", "--every", "--at"}) times += given.has(option) ? 1 : 0;
  if (times != 1)
    return Error{ErrorCode::InvalidRequest, "say when: one of --cron, --every and --at"};
  if (given.has("--every"))
    if (auto span = parse_span(given.text("--every")); !span.ok() || *span <= 0)
      return Error{ErrorCode::InvalidRequest,
                   "--every takes a duration such as 15m, not " + in_quotes(given.text("--every"))};
  if (given.has("--job") && (given.has("--input") || given.has("--inputs")))
    return Error{ErrorCode::InvalidRequest, "a job takes --args, not inputs"};
  return ok_status();
}

Result<std::string> put_body(const Invocation& given) {
  PAWL_TRY_DO(check_put(given));
  PAWL_TRY(Value inputs, given_inputs(given));
  PAWL_TRY(std::string args, given_json(given, "--args"));
  json::ObjectWriter w;
  w.field("name", given.argument(0));
  if (given.has("--job")) {
    w.key("job").begin_object().field("type", given.text("--job"));
    w.field_raw("args", args.empty() ? "[]" : args);
    if (given.has("--queue"))
      w.key("options").begin_object().field("queue", given.text("--queue")).end_object();
    w.end_object();
  }
  for (const char* name :
       {"definition", "version", "cron", "every", "at", "timezone", "overlap", "jitter"})
    if (std::string option = std::string("--") + name; given.has(option))
      w.field(name, given.text(option));
  if (!inputs.as_object().empty()) w.field_raw("inputs", inputs.json());
  return w.close();
}

int put_schedule(const Invocation& given) {
  Session session(given);
  auto body = put_body(given);
  if (!body.ok()) return session.fail(body.error());
  return session.show("POST", kSchedules, *body, print_schedule);
}

int list_schedules(const Invocation& given) {
  std::string query = query_of(given, {"limit", "cursor"}, "100");
  return Session(given).show("GET", kSchedules + query, "", [](json::View root) {
    Table table({"NAME", "STARTS", "WHEN", "ZONE", "STATE", "NEXT"});
    if (auto all = root.find("schedules"))
      all->each_element([&](json::View one) {
        table.add({member(one, "name"), what_of(one), when_of(one), member(one, "timezone"),
                   schedule_state(one), member(one, "next_at")});
      });
    print_text(table.empty() ? "nothing is scheduled\n" : table.text(colours_on(stdout)));
    print_more(root);
  });
}

int get_schedule(const Invocation& given) {
  return Session(given).show("GET", schedule_path(given), "", print_schedule);
}
int pause_schedule(const Invocation& given) {
  return Session(given).show("POST", schedule_path(given, "/pause"), "{}", print_schedule);
}
int resume_schedule(const Invocation& given) {
  return Session(given).show("POST", schedule_path(given, "/resume"), "{}", print_schedule);
}
int trigger_schedule(const Invocation& given) {
  return Session(given).show("POST", schedule_path(given, "/trigger"), "{}", print_triggered);
}
int remove_schedule(const Invocation& given) {
  return Session(given).show("DELETE", schedule_path(given), "", [&](json::View) {
    print_text(printable(given.argument(0)) + " deleted\n");
  });
}

}  // namespace

std::vector<Command> schedule_commands() {
  return {remote("schedules put", "schedule a definition or a job, or change its schedule",
                 put_schedule, {kScheduleName},
                 input_options(
                     {{"--definition", "NAME", "start a run of this definition"},
                      {"--version", "VERSION", "of the definition, by default the newest"},
                      {"--job", "TYPE", "push a job of this type"},
                      {"--args", "JSON", "of the job, by default []"},
                      {"--queue", "NAME", "of the job"},
                      {"--cron", "EXPRESSION", "five fields, or @daily and the like"},
                      {"--every", "DURATION", "such as 15m"},
                      {"--at", "TIME", "once, RFC 3339"},
                      {"--timezone", "ZONE", "of --cron, such as Europe/Vienna; by default UTC"},
                      {"--overlap", "POLICY", "if the previous one still runs", "skip queue allow"},
                      {"--jitter", "DURATION",
                       "start up to this much later, so that not all start at once"}}),
                 "Examples:\n  pawl schedules put nightly --definition report --cron '0 3 * * *' "
                 "--timezone "
                 "Europe/Vienna\n"
                 "  pawl schedules put ping --job net.ping --every 5m --overlap skip"),
          remote("schedules list", "list what is scheduled", list_schedules, {},
                 {{"--limit", "N", "at most this many"},
                  {"--cursor", "CURSOR", "continue where the last page ended"}}),
          remote("schedules get", "show a schedule", get_schedule, {kScheduleName}),
          remote("schedules pause", "start nothing until resumed", pause_schedule, {kScheduleName}),
          remote("schedules resume", "end a pause", resume_schedule, {kScheduleName}),
          remote("schedules trigger", "start it now, beside its schedule", trigger_schedule,
                 {kScheduleName}),
          remote("schedules delete", "end a schedule", remove_schedule, {kScheduleName})};
}

}  // namespace pawl::cli
