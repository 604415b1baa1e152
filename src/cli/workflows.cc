// pawl workflows … and pawl runs …: the same runs, seen as Open Job Spec workflows or in the words
// of /v1.
#include <fstream>
#include <iterator>

#include "base/json_writer.h"
#include "cli/command.h"
#include "cli/session.h"
#include "cli/terminal.h"

namespace pawl::cli {
namespace {

constexpr const char* kWorkflows = "/ojs/v1/workflows";
constexpr size_t kFileBytesMax = size_t{64} << 20;

void print_pair(std::string_view name, const std::string& value, Colour colour = Colour::None) {
  if (value.empty()) return;
  std::string line(name);
  line.resize(std::max<size_t>(line.size(), 12), ' ');
  print_text(line + " " + painted(printable(value), colour, colours_on(stdout)) + "\n");
}

void print_more(json::View root) {
  if (std::string next = member(root, "next_cursor"); !next.empty())
    print_text("more: --cursor " + printable(next) + "\n");
}

// --- workflows

void print_step(Table& table, json::View step, const std::string& indent, size_t depth) {
  std::string index = indent + member(step, "index");
  std::string name = member(step, "name");
  std::string id = member(step, "job_id");
  table.add({index, member(step, "type") + (name.empty() ? "" : " (" + name + ")"),
             member(step, "state"), id.empty() ? member(step, "workflow_id") : id,
             member(step, "reason")});
  auto nested = step.find("workflow");
  if (!nested || !nested->is_object() || depth > 32) return;
  for (const char* list : {"steps", "jobs"})
    if (auto steps = nested->find(list); steps && steps->is_array())
      steps->each_element(
          [&](json::View inner) { print_step(table, inner, index + ".", depth + 1); });
}

void print_workflow(json::View root) {
  json::View workflow = root.find("workflow").value_or(root);
  std::string state = member(workflow, "state");
  print_pair("id", member(workflow, "id"));
  print_pair("type", member(workflow, "type"));
  print_pair("name", member(workflow, "name"));
  print_pair("state", state, colour_of_state(state));
  for (const char* name : {"created_at", "completed_at", "timeout_ms", "parent_workflow_id"})
    print_pair(name, member(workflow, name));
  Table table({"STEP", "TYPE", "STATE", "ID", "REASON"});
  for (const char* list : {"steps", "jobs"})
    if (auto steps = workflow.find(list); steps && steps->is_array())
      steps->each_element([&](json::View step) { print_step(table, step, "", 0); });
  if (auto callbacks = workflow.find("callbacks"); callbacks && callbacks->is_object())
    callbacks->each_member([&](json::View role, json::View job) {
      table.add(
          {role.string(), member(job, "type"), member(job, "state"), member(job, "job_id"), ""});
    });
  if (!table.empty()) print_text("\n" + table.text(colours_on(stdout)));
  print_more(workflow);
}

Result<std::string> read_definition(const std::string& path) {
  std::ifstream file;
  std::string text;
  if (path == "-") {
    int c = 0;
    while ((c = std::getchar()) != EOF && text.size() <= kFileBytesMax)
      text.push_back(static_cast<char>(c));
  } else {
    file.open(path, std::ios::binary);
    if (!file) return Error{ErrorCode::InvalidRequest, "cannot read " + path};
    text.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  if (text.size() > kFileBytesMax) return Error{ErrorCode::TooLarge, path + " is too large"};
  if (auto doc = json::parse(text); !doc.ok())
    return Error{ErrorCode::InvalidRequest, path + " is no JSON: " + doc.error().message};
  return text;
}

int create(const Invocation& given) {
  Session session(given);
  auto text = read_definition(given.argument(0));
  if (!text.ok()) return session.fail(text.error());
  if (given.has("--idempotency-key"))
    session.add_header("Idempotency-Key", given.text("--idempotency-key"));
  return session.show("POST", kWorkflows, *text, print_workflow);
}

int get_workflow(const Invocation& given) {
  return Session(given).show("GET", path_of("/ojs/v1/workflows/", given.argument(0)), "",
                             print_workflow);
}

int cancel(const Invocation& given) {
  return Session(given).show("DELETE", path_of("/ojs/v1/workflows/", given.argument(0)), "",
                             print_workflow);
}

int retry(const Invocation& given) {
  return Session(given).show("POST", path_of("/ojs/v1/workflows/", given.argument(0), "/retry"),
                             "{}", print_workflow);
}

int list_workflows(const Invocation& given) {
  std::string query = query_of({{"state", given.text("--state")},
                                {"type", given.text("--type")},
                                {"name", given.text("--name")},
                                {"limit", given.text("--limit", "50")},
                                {"cursor", given.text("--cursor")}});
  return Session(given).show("GET", kWorkflows + query, "", [](json::View root) {
    Table table({"ID", "TYPE", "NAME", "STATE", "DONE", "FAILED", "CREATED"});
    if (auto list = root.find("workflows"))
      list->each_element([&](json::View one) {
        table.add({member(one, "id"), member(one, "type"), member(one, "name"),
                   member(one, "state"), member(one, "completed") + "/" + member(one, "total"),
                   member(one, "failed"), member(one, "created_at")});
      });
    print_text(table.empty() ? "no workflows\n" : table.text(colours_on(stdout)));
    print_more(root);
  });
}

// --- runs

void print_run(json::View root) {
  json::View run = root.find("run").value_or(root);
  std::string status = member(run, "status");
  print_pair("id", member(run, "id"));
  print_pair("kind", member(run, "kind"));
  print_pair("name", member(run, "name"));
  print_pair("status", status, colour_of_state(status));
  for (const char* name : {"created_at", "started_at", "completed_at", "times_out_at", "reason"})
    print_pair(name, member(run, name));
  if (auto error = run.find("error"); error && error->is_object())
    print_pair("error", member(*error, "message"), Colour::Red);
  Table table({"STEP", "TYPE", "STATE", "ATTEMPTS", "ID"});
  if (auto steps = run.find("steps"); steps && steps->is_object())
    steps->each_member([&](json::View id, json::View step) {
      std::string job = member(step, "job_id");
      table.add({id.string(), member(step, "type"), member(step, "status"),
                 member(step, "attempts"), job.empty() ? member(step, "run_id") : job});
    });
  if (!table.empty()) print_text("\n" + table.text(colours_on(stdout)));
  print_more(run);
}

int cancel_run(const Invocation& given) {
  std::string body;
  json::Writer w(body);
  w.begin_object();
  if (given.has("--reason")) w.field("reason", given.text("--reason"));
  w.end_object();
  return Session(given).show("POST", path_of("/v1/runs/", given.argument(0), "/cancel"), body,
                             print_run);
}

int retry_run(const Invocation& given) {
  return Session(given).show("POST", path_of("/v1/runs/", given.argument(0), "/retry"), "{}",
                             print_run);
}

int get_run(const Invocation& given) {
  return Session(given).show("GET", path_of("/v1/runs/", given.argument(0)), "", print_run);
}

int list_runs(const Invocation& given) {
  std::string query = query_of({{"status", given.text("--status")},
                                {"kind", given.text("--kind")},
                                {"name", given.text("--name")},
                                {"limit", given.text("--limit", "50")},
                                {"cursor", given.text("--cursor")}});
  return Session(given).show("GET", "/v1/runs" + query, "", [](json::View root) {
    Table table({"ID", "KIND", "NAME", "STATE", "DONE", "CREATED"});
    if (auto list = root.find("runs"))
      list->each_element([&](json::View run) {
        json::View counts = run.find("counts").value_or(run);
        table.add({member(run, "id"), member(run, "kind"), member(run, "name"),
                   member(run, "status"),
                   member(counts, "completed") + "/" + member(counts, "total"),
                   member(run, "created_at")});
      });
    print_text(table.empty() ? "no runs\n" : table.text(colours_on(stdout)));
    print_more(root);
  });
}

void print_explanation(json::View root) {
  std::string status = member(root, "status");
  print_pair("status", status, colour_of_state(status));
  if (auto ended = root.find("ended"); ended && ended->is_object()) {
    print_pair("ended_at", member(*ended, "at"));
    print_pair("reason", member(*ended, "reason"));
    if (auto error = ended->find("error"); error && error->is_object())
      print_pair("error", member(*error, "message"), Colour::Red);
    return;
  }
  bool any = false;
  auto waits = root.find("waiting_for");
  if (waits)
    waits->each_element([&](json::View wait) {
      any = true;
      std::string step = member(wait, "step_id");
      print_text((step.empty() ? "" : printable(step) + ": ") + printable(member(wait, "detail")) +
                 " (since " + printable(member(wait, "since")) + ")\n");
    });
  if (!any) print_text("waits for nothing\n");
  int64_t more =
      member_int(root, "waiting_total") - static_cast<int64_t>(waits ? waits->size() : 0);
  if (more > 0) print_text("… and " + std::to_string(more) + " more\n");
  if (auto next = root.find("next"))
    next->each_element([&](json::View step) {
      std::string after = member(step, "after");
      print_text("next: " + printable(member(step, "step_id")) + " " +
                 printable(member(step, "type")) +
                 (after.empty() ? "" : ", after " + printable(after)) + "\n");
    });
}

int explain(const Invocation& given) {
  return Session(given).show("GET", path_of("/v1/runs/", given.argument(0), "/explain"), "",
                             print_explanation);
}

int explain_job(const Invocation& given) {
  return Session(given).show("GET", path_of("/v1/jobs/", given.argument(0), "/explain"), "",
                             print_explanation);
}

int events(const Invocation& given) {
  std::string query = query_of({{"types", given.text("--types")},
                                {"limit", given.text("--limit", "100")},
                                {"after", given.text("--after")}});
  std::string path = path_of("/ojs/v1/workflows/", given.argument(0), "/events") + query;
  return Session(given).show("GET", path, "", [](json::View root) {
    if (auto list = root.find("events"))
      list->each_element([](json::View event) {
        std::string line =
            printable(member(event, "time")) + "  " + printable(member(event, "type"));
        if (auto data = event.find("data"); data && data->is_object())
          for (const char* name : {"step_index", "step_type", "callback", "duration_ms", "reason"})
            if (std::string value = member(*data, name); !value.empty())
              line += std::string("  ") + name + "=" + printable(value);
        print_text(line + "\n");
      });
    if (member(root, "has_more") == "true")
      print_text("more: --after " + printable(member(root, "cursor")) + "\n");
  });
}

const Parameter kWorkflowId{"ID", "the workflow's id"};
const Parameter kRunId{"ID", "the run's id"};
const Option kLimit{"--limit", "N", "at most this many"};
const Option kCursor{"--cursor", "CURSOR", "go on where the last page ended"};
constexpr const char* kKinds = "chain group batch dag map";

}  // namespace

std::vector<Command> workflow_commands() {
  return {
      {"workflows create",
       "create a workflow from a JSON file",
       {{"FILE", "as docs/guide/workflows.md describes; - reads standard input"}},
       remote_options({{"--idempotency-key", "KEY", "sent twice, it is created once"}}),
       "Example:\n  echo "
       "'{\"type\":\"chain\",\"steps\":[{\"type\":\"a.one\",\"args\":[]},{\"type\":"
       "\"a.two\",\"args\":[]}]}' | pawl workflows create -",
       create},
      {"workflows list",
       "list workflows, newest first",
       {},
       remote_options(
           {{"--state", "STATE", "only this state", "running completed failed cancelled"},
            {"--type", "TYPE", "only this type", kKinds},
            {"--name", "NAME", "only of this name"},
            kLimit,
            kCursor}),
       "",
       list_workflows},
      {"workflows get",
       "show a workflow and its steps",
       {kWorkflowId},
       remote_options({}),
       "",
       get_workflow},
      {"workflows cancel",
       "cancel what has not begun",
       {kWorkflowId},
       remote_options({}),
       "",
       cancel},
      {"workflows retry", "go on from what failed", {kWorkflowId}, remote_options({}), "", retry}};
}

std::vector<Command> run_commands() {
  return {{"runs list",
           "list runs, newest first",
           {},
           remote_options(
               {{"--status", "STATUS", "only this status", "active completed failed cancelled"},
                {"--kind", "KIND", "only this kind", kKinds},
                {"--name", "NAME", "only of this name"},
                kLimit,
                kCursor}),
           "",
           list_runs},
          {"runs get", "show a run and its steps", {kRunId}, remote_options({}), "", get_run},
          {"runs explain",
           "what a run waits for, and since when",
           {kRunId},
           remote_options({}),
           "",
           explain},
          {"runs events",
           "what happened in a run",
           {kRunId},
           remote_options({{"--types", "TYPES", "only these, as workflow.step_failed"},
                           kLimit,
                           {"--after", "CURSOR", "go on where the last page ended"}}),
           "",
           events},
          {"runs cancel",
           "cancel what has not begun",
           {kRunId},
           remote_options({{"--reason", "TEXT", "why, for whoever asks later"}}),
           "",
           cancel_run},
          {"runs retry", "go on from what failed", {kRunId}, remote_options({}), "", retry_run},
          {"jobs explain",
           "what a job waits for, and since when",
           {{"ID", "the job's id"}},
           remote_options({}),
           "",
           explain_job}};
}

}  // namespace pawl::cli
