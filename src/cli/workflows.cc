// pawl workflows …: Open Job Spec workflows.
#include "cli/command.h"
#include "cli/given_inputs.h"
#include "cli/session.h"
#include "cli/terminal.h"

namespace pawl::cli {
namespace {

constexpr const char* kWorkflows = "/ojs/v1/workflows";
constexpr size_t kWorkflowFileBytesMax = size_t{64} << 20;

void print_step(Table& table, json::View step, const std::string& indent, size_t depth) {
  std::string index = indent + member(step, "index");
  std::string name = member(step, "name");
  std::string id = member(step, "job_id");
  table.add({index, member(step, "type") + (name.empty() ? "" : " (" + name + ")"),
             member(step, "state"), id.empty() ? member(step, "workflow_id") : id,
             member(step, "reason")});
  auto nested = step.find("workflow");
  if (!nested || !nested->is_object() || depth > 32) return;
  for (const char* list_workflows : {"steps", "jobs"})
    if (auto steps = nested->find(list_workflows); steps && steps->is_array())
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
  for (const char* list_workflows : {"steps", "jobs"})
    if (auto steps = workflow.find(list_workflows); steps && steps->is_array())
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
  PAWL_TRY(std::string text, read_whole_file(path, kWorkflowFileBytesMax));
  if (auto doc = json::parse(text); !doc.ok())
    return Error{ErrorCode::InvalidRequest, path + " is no JSON: " + doc.error().message};
  return text;
}

int create_workflow(const Invocation& given) {
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

int cancel_workflow(const Invocation& given) {
  return Session(given).show("DELETE", path_of("/ojs/v1/workflows/", given.argument(0)), "",
                             print_workflow);
}

int retry_workflow(const Invocation& given) {
  return Session(given).show("POST", path_of("/ojs/v1/workflows/", given.argument(0), "/retry"),
                             "{}", print_workflow);
}

int list_workflows(const Invocation& given) {
  std::string query = query_of(given, {"state", "type", "name", "limit", "cursor"}, "50");
  return Session(given).show("GET", kWorkflows + query, "", [](json::View root) {
    Table table({"ID", "TYPE", "NAME", "STATE", "DONE", "FAILED", "CREATED"});
    if (auto list_workflows = root.find("workflows"))
      list_workflows->each_element([&](json::View one) {
        table.add({member(one, "id"), member(one, "type"), member(one, "name"),
                   member(one, "state"), member(one, "completed") + "/" + member(one, "total"),
                   member(one, "failed"), member(one, "created_at")});
      });
    print_text(table.empty() ? "no workflows\n" : table.text(colours_on(stdout)));
    print_more(root);
  });
}

const Parameter kWorkflowId{"ID", "the workflow's id"};
const Option kWorkflowLimit{"--limit", "N", "at most this many"};
const Option kWorkflowCursor{"--cursor", "CURSOR", "go on where the last page ended"};
constexpr const char* kKinds = "chain group batch dag map";

}  // namespace

std::vector<Command> workflow_commands() {
  return {remote("workflows create", "create a workflow from a JSON file", create_workflow,
                 {{"FILE", "as docs/guide/workflows.md describes; - reads standard input"}},
                 {{"--idempotency-key", "KEY", "repeated requests create one workflow"}},
                 "Example:\n  echo "
                 "'{\"type\":\"chain\",\"steps\":[{\"type\":\"a.one\",\"args\":[]},{\"type\":"
                 "\"a.two\",\"args\":[]}]}' | pawl workflows create -"),
          remote("workflows list", "list workflows, newest first", list_workflows, {},
                 {{"--state", "STATE", "only this state", "running completed failed cancelled"},
                  {"--type", "TYPE", "only this type", kKinds},
                  {"--name", "NAME", "only of this name"},
                  kWorkflowLimit,
                  kWorkflowCursor}),
          remote("workflows get", "show a workflow and its steps", get_workflow, {kWorkflowId}),
          remote("workflows cancel", "cancel what has not begun", cancel_workflow, {kWorkflowId}),
          remote("workflows retry", "retry the failed steps", retry_workflow, {kWorkflowId})};
}

}  // namespace pawl::cli
