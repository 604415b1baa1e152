// pawl runs …: every kind of run in the form of /v1, and control of runs of definitions.
#include <chrono>
#include <thread>

#include "base/json_writer.h"
#include "base/quote.h"
#include "cli/command.h"
#include "cli/event_stream.h"
#include "cli/given_inputs.h"
#include "cli/json_layout.h"
#include "cli/session.h"
#include "cli/terminal.h"

namespace pawl::cli {
namespace {

constexpr int kWaits = 4;  // of start --wait: suspended, an answer is needed
constexpr std::chrono::milliseconds kPollFirst{100};
constexpr std::chrono::milliseconds kPollMost{2000};

std::string run_path(const Invocation& given, std::string_view after = "") {
  return path_of("/v1/runs/", given.argument(0), after);
}

bool is_over(const std::string& status) {
  return status == "completed" || status == "failed" || status == "cancelled";
}

std::string error_of(json::View holder) {
  auto error = holder.find("error");
  if (!error || !error->is_object()) return "";
  std::string code = member(*error, "code");
  return code + (code.empty() ? "" : ": ") + member(*error, "message");
}

void print_decisions(json::View run) {
  auto list = run.find("pending_decisions");
  if (!list || !list->is_array()) return;
  list->each_element([](json::View decision) {
    json::View context = decision.find("context").value_or(decision);
    print_text("\n" + painted("?", Colour::Yellow, colours_on(stdout)) + " " +
               printable(member(decision, "step_id")) + ": " +
               printable(member(context, "prompt_context")) + "\n  pawl decisions resolve " +
               printable(member(decision, "id")) + " CHOICE");
    if (auto options = context.find("options"); options && options->is_array())
      options->each_element(
          [](json::View option) { print_text("  " + printable(member(option, "id"))); });
    print_text("\n");
  });
}

void print_run(json::View root) {
  json::View run = root.find("run").value_or(root);
  std::string status = member(run, "status");
  if (auto at = root.find("at"); at && at->is_object())
    print_text("as it was at " + printable(member(*at, "time")) + ", position " +
               printable(member(*at, "seq")) + "\n");
  print_pair("id", member(run, "id"));
  print_pair("kind", member(run, "kind"));
  print_pair("name", member(run, "name"));
  print_pair("world", member(run, "world"));
  print_pair("key", member(run, "key"));
  std::string version = member(run, "version");
  print_pair("definition", member(run, "definition") + (version.empty() ? "" : " " + version));
  print_pair("status", member(run, "paused") == "true" ? status + " (paused)" : status,
             colour_of_state(status));
  for (const char* name : {"created_at", "started_at", "completed_at", "times_out_at", "reason"})
    print_pair(name, member(run, name));
  print_pair("error", error_of(run), Colour::Red);
  if (std::string output = member(run, "output"); !output.empty())
    print_text("output\n" + laid_out_json(output) + "\n");
  Table table({"STEP", "TYPE", "STATE", "ATTEMPTS", "ID"});
  if (auto steps = run.find("steps"); steps && steps->is_object())
    steps->each_member([&](json::View id, json::View step) {
      std::string job = member(step, "job_id");
      std::string action = member(step, "action");
      std::string error = error_of(step);
      table.add({id.string(), action.empty() ? member(step, "type") : action,
                 member(step, "status"), member(step, "attempts"),
                 !job.empty()     ? job
                 : !error.empty() ? error.substr(0, 100)
                                  : member(step, "run_id")});
    });
  if (!table.empty()) print_text("\n" + table.text(colours_on(stdout)));
  print_decisions(run);
  print_more(run);
}

// --- start

Result<std::string> start_body(const Invocation& given, bool wait) {
  PAWL_TRY(Value inputs, given_inputs(given));
  json::ObjectWriter w;
  w.field("definition", given.argument(0)).field_raw("inputs", inputs.json());
  for (const auto& [option, name] :
       {std::pair{"--version", "version"}, {"--id", "id"}, {"--agent", "agent_id"}})
    if (given.has(option)) w.field(name, given.text(option));
  if (given.has("--priority")) {
    PAWL_TRY(Value priority, Value::parse(given.text("--priority")));
    w.field_raw("priority", priority.json());
  }
  if (wait) w.field("wait", "10s");
  return w.close();
}

int code_of(const std::string& status) {
  if (status == "completed") return kDone;
  return status == "suspended" ? kWaits : kRefused;
}

// Waits until it has ended or is suspended.
std::optional<Answer> wait_for(Session& session, const std::string& id) {
  auto pause_run = kPollFirst;
  while (true) {
    auto answer = session.ask("GET", path_of("/v1/runs/", id));
    if (!answer) return answer;
    json::View run = answer->root().find("run").value_or(answer->root());
    std::string status = member(run, "status");
    if (is_over(status) || status == "suspended") return answer;
    std::this_thread::sleep_for(pause_run);
    pause_run = std::min(pause_run * 2, kPollMost);
  }
}

int start(const Invocation& given) {
  Session session(given);
  bool wait = given.has("--wait");
  auto body = start_body(given, wait);
  if (!body.ok()) return session.fail(body.error());
  if (given.has("--idempotency-key"))
    session.add_header("Idempotency-Key", given.text("--idempotency-key"));
  if (!wait) return session.show("POST", "/v1/runs", *body, print_run);
  auto answer = session.ask("POST", "/v1/runs", *body);
  if (!answer) return session.exit_code();
  json::View run = answer->root().find("run").value_or(answer->root());
  std::string status = member(run, "status");
  if (!is_over(status) && status != "suspended") {
    answer = wait_for(session, member(run, "id"));
    if (!answer) return session.exit_code();
    status = member(answer->root().find("run").value_or(answer->root()), "status");
  }
  session.json() ? print_text(*answer->text + "\n") : print_run(answer->root());
  return code_of(status);
}

// --- looking

int get_run(const Invocation& given) {
  std::string query = query_of(given, {"at", "limit", "cursor"});
  return Session(given).show("GET", run_path(given) + query, "", print_run);
}

int list_runs(const Invocation& given) {
  std::string query = query_of(given,
                               {"status", "kind", "name", "definition", "parent", "world", "text",
                                "since", "until", "limit", "cursor"},
                               "50");
  return Session(given).show("GET", "/v1/runs" + query, "", [](json::View root) {
    Table table({"ID", "KIND", "NAME", "STATE", "DONE", "CREATED"});
    if (auto runs = root.find("runs"))
      runs->each_element([&](json::View run) {
        json::View counts = run.find("counts").value_or(run);
        std::string definition = member(run, "definition");
        std::string total = member(counts, "total");
        table.add({member(run, "id"), member(run, "kind"),
                   definition.empty() ? member(run, "name") : definition, member(run, "status"),
                   total.empty() ? "" : member(counts, "completed") + "/" + total,
                   member(run, "created_at")});
      });
    print_text(table.empty() ? "no runs\n" : table.text(colours_on(stdout)));
    print_more(root);
  });
}

int explain(const Invocation& given) {
  return Session(given).show("GET", run_path(given, "/explain"), "", print_explanation);
}

int explain_job(const Invocation& given) {
  return Session(given).show("GET", path_of("/v1/jobs/", given.argument(0), "/explain"), "",
                             print_explanation);
}

// --- events

void print_event(json::View event) {
  std::string time = member(event, "timestamp");
  std::string line = printable(time.empty() ? member(event, "time") : time) + "  " +
                     printable(member(event, "type"));
  if (std::string step = member(event, "step_id"); !step.empty()) line += "  " + printable(step);
  if (auto data = event.find("data"); data && data->is_object())
    for (const char* name :
         {"step_index", "step_type", "callback", "attempt", "branch", "choice", "message",
          "duration_ms", "reason", "error", "status", "code", "effect_kind"})
      if (std::string value = member(*data, name); !value.empty())
        line += std::string("  ") + name + "=" + printable(value.substr(0, 200));
  print_text(line + "\n");
}

int past_events(const Invocation& given) {
  std::string query = query_of(given, {"types", "limit", "after"}, "100");
  return Session(given).show("GET", run_path(given, "/events") + query, "", [](json::View root) {
    if (auto run_events = root.find("events"))
      run_events->each_element([](json::View event) { print_event(event); });
    if (member(root, "has_more") == "true")
      print_text("more: --after " + printable(member(root, "cursor")) + "\n");
  });
}

bool ends_run(const std::string& type) {
  for (std::string_view end : {"completed", "failed", "cancelled", "timed_out"})
    for (char joint : {'_', '.'})
      if (type == "workflow" + std::string(1, joint) + std::string(end)) return true;
  return false;
}

// From the beginning until the run ends, also across a restart of the server.
int follow_events(const Invocation& given) {
  Session session(given);
  std::string last_id = given.text("--after");
  bool ended = false;
  EventStream run_events([&](const ServerEvent& event) {
    if (!event.id.empty()) last_id = event.id;
    auto doc = json::parse(event.data);
    if (event.data.empty() || !doc.ok()) return;
    session.json() ? print_text(event.data + "\n") : print_event(doc->root());
    std::fflush(stdout);
    ended = ended || ends_run(member(doc->root(), "type"));
  });
  std::string path =
      run_path(given, "/events") + query_of({{"stream", "true"}, {"types", given.text("--types")}});
  for (bool connected_once = false; !ended; connected_once = true) {
    run_events.reset();
    auto reply = session.stream(
        path,
        [&](std::string_view piece) {
          connected_once = true;
          run_events.feed(piece);
          return !ended;
        },
        last_id);
    if (ended) break;
    if (reply.ok() && reply->status / 100 != 2) return session.refuse(*reply);
    if (!reply.ok() && !connected_once) return session.fail(reply.error());
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  return kDone;
}

int run_events(const Invocation& given) {
  return given.has("--follow") ? follow_events(given) : past_events(given);
}

// --- steering

int post(const Invocation& given, std::string_view call, const Value::Object& body) {
  return Session(given).show("POST", run_path(given, call), Value(body).json(), print_run);
}

int cancel_run(const Invocation& given) {
  Value::Object body;
  if (given.has("--reason")) body.set("reason", given.text("--reason"));
  if (given.has("--rollback")) body.set("rollback", true);
  return post(given, "/cancel", body);
}

int pause_run(const Invocation& given) {
  Value::Object body;
  body.set("mode", given.has("--now") ? "now" : "drain");
  return post(given, "/pause", body);
}

int resume_run(const Invocation& given) { return post(given, "/resume", {}); }
int release(const Invocation& given) { return post(given, "/release", {}); }

void print_preview(json::View root) {
  for (const char* name : {"again", "kept"}) {
    auto steps = root.find(name);
    print_text(std::string(name) + ":");
    if (!steps || !steps->is_array() || steps->size() == 0) print_text(" nothing");
    if (steps && steps->is_array())
      steps->each_element([](json::View step) { print_text(" " + printable(step.string())); });
    print_text("\n");
  }
}

int retry_run(const Invocation& given) {
  Session session(given);
  auto inputs = given_inputs(given);
  if (!inputs.ok()) return session.fail(inputs.error());
  Value::Object body;
  if (given.has("--from")) body.set("from_step", given.text("--from"));
  if (given.has("--preview")) body.set("preview", true);
  if (!inputs->as_object().empty()) body.set("inputs", std::move(inputs).value());
  return session.show("POST", run_path(given, "/retry"), Value(body).json(),
                      given.has("--preview") ? print_preview : print_run);
}

int signal(const Invocation& given) {
  Session session(given);
  auto payload = given_json(given, "--payload");
  if (!payload.ok()) return session.fail(payload.error());
  json::ObjectWriter w;
  w.field("type", given.argument(1));
  for (const auto& [option, name] :
       {std::pair{"--step", "step_id"}, {"--agent", "agent_id"}, {"--reason", "reasoning"}})
    if (given.has(option)) w.field(name, given.text(option));
  if (!payload->empty()) w.field_raw("payload", *payload);
  return session.show("POST", run_path(given, "/signals"), w.close(), print_run);
}

const Parameter kRunId{"ID", "the run's id"};
const Option kRunLimit{"--limit", "N", "at most this many"};
const Option kRunCursor{"--cursor", "CURSOR", "continue where the last page ended"};
const Option kAt{"--at", "POSITION", "as it was then: a seq of its events, or a time (RFC 3339)"};
const char* const kAtDetails =
    "The past is read from the journal, as far back as it is kept.\n\n"
    "Examples:\n  pawl runs show 0197f5a2-… --at 1048583\n"
    "  pawl runs show 0197f5a2-… --at 2026-01-31T09:30:00Z";
const Option kAgent{"--agent", "NAME", "on whose behalf"};

std::vector<Command> looking_commands() {
  return {remote("runs list", "list runs, newest first", list_runs, {},
                 {{"--status", "STATUS", "only this status",
                   "pending active suspended completed failed cancelled"},
                  {"--kind", "KIND", "only this kind", "chain group batch dag map module"},
                  {"--name", "NAME", "only workflows of this name"},
                  {"--definition", "NAME", "only runs of this definition"},
                  {"--parent", "ID", "only runs that this run started"},
                  {"--world", "NAME", "only instances of modules of this world"},
                  {"--text", "TEXT", "only if the name or the id contains it"},
                  {"--since", "TIME", "only runs created then or later, RFC 3339"},
                  {"--until", "TIME", "only runs created then or earlier"},
                  kRunLimit,
                  kRunCursor}),
          remote("runs get", "show a run and its steps", get_run, {kRunId},
                 {kAt, kRunLimit, kRunCursor}, kAtDetails),
          remote("runs show", "the same as runs get", get_run, {kRunId},
                 {kAt, kRunLimit, kRunCursor}, kAtDetails),
          remote("runs explain", "what a run waits for, and since when", explain, {kRunId}),
          remote("runs events", "what happened in a run", run_events, {kRunId},
                 {{"--follow", "", "follow new events until the run ends"},
                  {"--types", "TYPES", "only these, as step_failed,step_retrying"},
                  kRunLimit,
                  {"--after", "CURSOR", "continue where the last page ended"}}),
          remote("jobs explain", "what a job waits for, and since when", explain_job,
                 {{"ID", "the job's id"}})};
}

}  // namespace

std::vector<Command> run_commands() {
  std::vector<Command> commands = {
      remote("runs start", "start a run of a definition", start, {{"NAME", "the definition"}},
             input_options(
                 {{"--version", "VERSION", "of the definition, by default the newest"},
                  {"--wait", "", "until it ends: exit 0 completed, 1 failed, 4 needs an answer"},
                  {"--id", "ID", "of the run, instead of a generated one"},
                  {"--priority", "N", "from -1000 to 1000"},
                  kAgent,
                  {"--idempotency-key", "KEY", "repeated requests start one run"}}),
             "Example:\n  pawl runs start hello --input name=Ada --wait"),
      remote("runs cancel", "cancel what has not begun", cancel_run, {kRunId},
             {{"--reason", "TEXT", "why; shown with the run"},
              {"--rollback", "", "undo completed steps"}}),
      remote("runs pause", "start no further step until resumed", pause_run, {kRunId},
             {{"--now", "", "also stop running steps"}}),
      remote("runs resume", "continue after a pause", resume_run, {kRunId}),
      remote("runs release", "try a quarantined run again", release, {kRunId}),
      remote("runs retry", "go on from what failed, or from a step", retry_run, {kRunId},
             input_options({{"--from", "STEP", "run this step and its dependents again"},
                            {"--preview", "", "only list steps that would run again"}})),
      remote("runs signal", "tell a run something", signal,
             {kRunId, {"TYPE", "decision, data, cancel, retry, skip, or a name of your own"}},
             {{"--step", "STEP", "the step it is for"},
              {"--payload", "JSON", "data for the run"},
              {"--reason", "TEXT", "why"},
              kAgent},
             "Example:\n  pawl runs signal 0192… paid --payload '{\"amount\": 12}'")};
  std::vector<Command> looking = looking_commands();
  std::move(looking.begin(), looking.end(), std::back_inserter(commands));
  return commands;
}

}  // namespace pawl::cli
