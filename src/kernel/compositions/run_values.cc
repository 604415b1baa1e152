#include "kernel/compositions/run_values.h"

#include <algorithm>
#include <map>

#include "base/plant.h"
#include "base/value.h"
#include "expr/cel/cache.h"
#include "expr/cel/convert.h"
#include "expr/template/template.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/queue.h"
#include "kernel/meter.h"
#include "kernel/messages/placing.h"
#include "kernel/run.h"
#include "kernel/scripts/commands.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/state.h"
#include "plan/ojs/job_spec.h"
#include "plan/ojs/plan_node.h"
#include "plan/ojs/queue_name.h"

namespace pawl {
namespace {

constexpr uint64_t kStepsPerItem = 100;     // of a map's items, beside a budget for all of them
constexpr size_t kMapBytesMax = 64u << 20;  // of their arguments together

expr::ProgramCache& programs() {
  static expr::ProgramCache cache;  // of compiled texts: its contents change no result
  return cache;
}

void append_job_failure(std::string& out, const Job& job) {
  json::Writer w(out);
  w.begin_object().key("error").begin_object();
  if (job.state == JobState::Cancelled) {
    w.field("code", "cancelled").field("message", "the job was cancelled");
  } else if (job.expired) {
    w.field("code", "expired").field("message", "the job expired before a worker took it");
  } else if (job.extras && !job.extras->errors.empty()) {
    const JobError& error = job.extras->errors.back();
    w.field("code", error.code).field("type", error.type).field("message", error.message);
    if (!error.details.empty()) w.field_raw("details", error.details);
  }
  w.key("job_id").uuid(job.id).field_int("attempt", job.attempt).end_object().end_object();
}

void append_reason(std::string& out, const Run& run, uint32_t index) {
  auto at = run.reasons.find(index);
  json::Writer w(out);
  w.begin_object().key("error").begin_object().field("code", "not_started");
  w.field("message", at == run.reasons.end() ? "it did not run" : at->second)
      .end_object()
      .end_object();
}

std::string step_name(const State& state, const Run& run, uint32_t index) {
  PlanNode node;
  if (run.kind != RunKind::Dag || !state.held_plan(run, index, node)) return std::to_string(index);
  if (!node.name.empty()) return node.name;
  return node.step_id.empty() ? std::to_string(index) : node.step_id;
}

// The results as CEL variables: `results` by index, `steps` by name.
struct ResultsScope {
  Value results = Value::Array{};
  Value steps = Value::Object{};
  Value item;
  expr::Variables variables;

  // For an expression that names neither, nothing is read: a chain may have thousands of guards.
  // JSON results that are not valid values (1e999, or nested deeper than 64 levels including the
  // enclosing groups) fail the expression that reads them.
  Status load(const State& state, std::string_view source, const JobParent& parent, Meter& meter) {
    size_t most = state.script_defaults().output_bytes_max;
    size_t bytes = 0;
    ParentResults parents;
    if (source.find("results") != source.npos || source.find("steps") != source.npos)
      parents = parent_results(state, parent);
    Value::Array list;
    Value::Object by_name;
    for (uint32_t child : parents.children) {
      std::string text;
      bool fits = append_child_result(text, state, *parents.run, child, most - bytes);
      bytes += text.size();
      if (!fits || bytes > most)
        return Error{ErrorCode::TooLarge, "the results it may name are together larger than " +
                                              std::to_string(most) + " bytes"};
      meter.charge_parsed(text.size());
      PAWL_TRY(Value value, Value::parse(text));
      by_name.set(step_name(state, *parents.run, child), value);
      list.push_back(std::move(value));
    }
    results = std::move(list);
    steps = std::move(by_name);
    variables.json("results", results).json("steps", steps);
    return ok_status();
  }
};

Result<Value> map_items(const State& state, const PlanNode& plan, const JobParent& parent,
                        Meter& meter) {
  if (!plan.over.empty() && plan.over[0] == '[') {
    auto literal = Value::parse(plan.over);
    if (literal.ok()) return literal;
  }
  ResultsScope scope;
  abort_if_planted(Plant::Evaluation, plan.over);
  PAWL_TRY_DO(scope.load(state, plan.over, parent, meter));
  PAWL_TRY(auto program, programs().get(expr::unwrap_template(plan.over)));
  expr::Budget budget;
  Result<Value> items = [&]() -> Result<Value> {
    PAWL_TRY(expr::Val value, program->evaluate(scope.variables, budget));
    return expr::to_json(value, budget);
  }();
  meter.charge(budget);
  return items;
}

// Fills in ${{ item }} and ${{ index }}; without them the item is the last argument.
Result<std::string> args_for_item(std::string_view args, const Value& item, size_t index,
                                  expr::Budget& budget) {
  PAWL_TRY(Value tree, Value::parse(args));
  if (!tree.is_array()) return Error{ErrorCode::InvalidContent, "args must be a list"};
  if (!expr::has_template(args)) {
    tree.as_array().push_back(item);
    return tree.json();
  }
  Value place(static_cast<int64_t>(index));
  expr::Variables variables;
  variables.json("item", item).json("index", place);
  PAWL_TRY(expr::Interpolated filled, expr::interpolate(tree, variables, programs(), budget));
  return filled.value.json();
}

// How many jobs a run starts with, by queue, if no condition holds any back.
void count_starting(const State& state, const PlanNode& plan, std::map<std::string, uint64_t>& jobs,
                    Meter& meter) {
  bool bounded = plan.run_kind == RunKind::Map && plan.concurrency != 0;
  size_t most = plan.run_kind == RunKind::Chain ? 1
                : bounded                       ? plan.concurrency
                                                : plan.children.size();
  for (size_t i = 0; i < std::min(most, plan.children.size()); ++i) {
    PlanNode node;
    PAWL_CHECK(codec::decode(plan.children[i], node));
    if (!node.depends_on.empty()) continue;
    if (node.kind == NodeKind::Run) {
      if (node.run_kind == RunKind::Map) {
        auto items = unfold_map(state, node, {}, meter);
        if (!items.ok()) continue;  // it will not start
        node.children = std::move(items).value();
      }
      count_starting(state, node, jobs, meter);
    } else {
      NewJob job;
      PAWL_CHECK(codec::decode(node.job, job));
      ++jobs[job.queue];
    }
  }
}

}  // namespace

Uuid child_of(const State& state, const Run& run, uint32_t index) {
  auto at = run.ids.find(index);
  if (at != run.ids.end()) return at->second;
  const Uuid id = child_id(run, index);
  return run.kind == RunKind::Script ? step_child_id(state, id) : id;
}

std::string shown_run_id(const State& state, const RunId& id) {
  const Run* run = state.find_run(id);
  return run != nullptr ? shown_id(*run) : id.text();
}

Error part_of_another(const State& state, std::string_view what, const Run& run) {
  return Error{ErrorCode::Conflict, std::string(what) + " " + shown_id(run) + " is part of " +
                                        shown_run_id(state, run.parent.run) + "; retry that one"};
}

bool append_child_result(std::string& out, const State& state, const Run& run, uint32_t index,
                         size_t bytes_max) {
  ChildState child = run.child(index);
  if (child == ChildState::Waiting || child == ChildState::Started ||
      child == ChildState::Skipped) {
    out.append("null");
    return true;
  }
  Uuid id = child_of(state, run, index);
  if (const Job* job = state.find_job(JobId(id))) {
    if (child != ChildState::Completed) {
      append_job_failure(out, *job);
    } else if (job->result.size() > bytes_max || out.size() > bytes_max - job->result.size()) {
      return false;
    } else {
      out.append(job->result.empty() ? "null" : job->result);
    }
  } else if (const Run* nested = state.find_run(RunId(id))) {
    return append_run_result(out, state, *nested, bytes_max);
  } else {
    append_reason(out, run, index);
  }
  return out.size() <= bytes_max;
}

bool append_run_result(std::string& out, const State& state, const Run& run, size_t bytes_max) {
  if (run.kind == RunKind::Chain) {
    uint32_t last = run.total;
    while (last > 0 && (run.child(last - 1) == ChildState::Waiting ||
                        run.child(last - 1) == ChildState::Skipped))
      --last;
    if (last > 0) return append_child_result(out, state, run, last - 1, bytes_max);
    out.append("null");
    return true;
  }
  json::Writer w(out);
  w.begin_object();
  for (uint32_t i = 0; i < run.total; ++i) {
    w.key(step_name(state, run, i));
    if (!append_child_result(out, state, run, i, bytes_max)) return false;
  }
  w.end_object();
  return out.size() <= bytes_max;
}

ParentResults parent_results(const State& state, const JobParent& parent) {
  ParentResults results;
  JobParent at = parent;
  while (!at.run.is_nil()) {
    const Run* run = state.find_run(at.run);
    if (run == nullptr) return results;
    results.run = run;
    const uint32_t index = index_of(at.place);
    if (is_callback(index)) {
      for (uint32_t i = 0; i < run->total; ++i) results.children.push_back(i);
      return results;
    }
    if (run->kind == RunKind::Chain && index > 0) {
      for (uint32_t i = index > kParentResultsMax ? index - kParentResultsMax : 0; i < index; ++i)
        results.children.push_back(i);
      return results;
    }
    if (run->kind == RunKind::Dag && !dag_links(state, *run).depends_on[index].empty()) {
      results.children = dag_links(state, *run).depends_on[index];
      return results;
    }
    at = run->parent;  // the first of its run, or one of several: it gets the results before the
                       // run
  }
  results.run = nullptr;
  return results;
}

void render_parent_results(json::Writer& w, const State& state, const JobParent& place) {
  ParentResults parents = parent_results(state, place);
  std::vector<std::string> texts;
  size_t left = state.script_defaults().output_bytes_max;
  size_t omitted = 0;
  for (uint32_t child : parents.children) {
    std::string& text = texts.emplace_back();
    if (!append_child_result(text, state, *parents.run, child, left)) {
      text = "null";
      ++omitted;
    }
    left -= std::min(left, text.size());
  }
  std::string workflow = shown_run_id(state, place.run);
  w.field("workflow_id", workflow).key("parent_results").begin_array();
  for (const std::string& text : texts) w.raw(text);
  w.end_array();
  if (omitted > 0) w.field_int("parent_results_omitted", omitted);
  if (!parents.children.empty() && parents.run->kind == RunKind::Chain && parents.children[0] > 0)
    w.field_int("parent_results_offset", parents.children[0]);
  w.key("workflow").begin_object().field("id", workflow);
  if (is_callback(index_of(place.place))) {
    w.field("callback", role_name(callback_role(index_of(place.place))));
  } else {
    w.field_int("index", index_of(place.place));
  }
  w.key("parent_results").begin_object();
  for (size_t i = 0; i < texts.size(); ++i)
    w.key(step_name(state, *parents.run, parents.children[i])).raw(texts[i]);
  w.end_object().end_object();
}

Result<bool> guard_holds(const State& state, const Run& run, uint32_t index, const PlanNode& node,
                         Meter& meter) {
  ResultsScope scope;
  abort_if_planted(Plant::Evaluation, node.when);
  PAWL_TRY_DO(scope.load(state, node.when, {run.id, place_of_index(index)}, meter));
  PAWL_TRY(auto program, programs().get(expr::unwrap_template(node.when)));
  expr::Budget budget;
  Result<bool> holds = program->test(scope.variables, budget);
  meter.charge(budget);
  return holds;
}

Result<std::vector<std::string>> unfold_map(const State& state, const PlanNode& plan,
                                            const JobParent& parent, Meter& meter) {
  PAWL_TRY(Value items, map_items(state, plan, parent, meter));
  if (!items.is_array()) return Error{ErrorCode::InvalidContent, "over must give a list"};
  if (items.as_array().size() > kRunChildrenMax)
    return Error{ErrorCode::TooLarge,
                 "over gives more than " + std::to_string(kRunChildrenMax) + " items"};
  PlanNode body;
  PAWL_CHECK(!plan.children.empty() && codec::decode(plan.children[0], body));
  NewJob job;
  PAWL_CHECK(codec::decode(body.job, job));
  JobSpec spec;
  PAWL_CHECK(codec::decode(job.spec, spec));
  std::string args = spec.args;
  std::vector<std::string> children;
  // One budget for all items: with one each, a long list would have no bound.
  expr::BudgetLimits limits;
  limits.steps_max += kStepsPerItem * items.as_array().size();
  limits.bytes_max = kMapBytesMax;
  expr::Budget budget(limits);
  size_t bytes = 0;
  for (size_t i = 0; i < items.as_array().size(); ++i) {
    auto filled = args_for_item(args, items.as_array()[i], i, budget);
    if (!filled.ok()) meter.charge(budget);
    PAWL_TRY(spec.args, std::move(filled));
    bytes += spec.args.size();
    if (bytes > kMapBytesMax) meter.charge(budget);
    if (bytes > kMapBytesMax)
      return Error{ErrorCode::TooLarge, "the items' arguments are together larger than " +
                                            std::to_string(kMapBytesMax) + " bytes"};
    job.spec = codec::encoded(spec);
    body.job = codec::encoded(job);
    children.push_back(codec::encoded(body));
  }
  meter.charge(budget);
  return children;
}

const DagLinks& dag_links(const State& state, const Run& run) {
  DagLinks& links = *run.dag;
  if (links.depends_on.empty()) {
    links.depends_on.resize(run.total);
    links.dependents.resize(run.total);
    for (uint32_t i = 0; i < run.total; ++i) {
      PlanNode node;
      if (!state.held_plan(run, i, node)) continue;
      links.depends_on[i] = node.depends_on;
      for (uint32_t dependency : node.depends_on) links.dependents[dependency].push_back(i);
    }
  }
  if (links.open.empty()) {
    for (const std::vector<uint32_t>& dependencies : links.depends_on)
      links.open.push_back(static_cast<uint32_t>(
          std::count_if(dependencies.begin(), dependencies.end(), [&](uint32_t dependency) {
            return run.child(dependency) != ChildState::Completed &&
                   run.child(dependency) != ChildState::Skipped;
          })));
  }
  return links;
}

Status admit_run(const State& state, const PlanNode& plan, Meter& meter) {
  std::map<std::string, uint64_t> starting;
  count_starting(state, plan, starting, meter);
  for (const auto& [name, jobs] : starting) {
    const Queue* queue = state.find_queue(name);
    if (queue == nullptr && !state.has_room_for_queue())
      return Error{ErrorCode::Overloaded, "the server has as many queues as it may hold"};
    if (queue == nullptr || queue->settings.depth_max == 0) continue;
    if (queue->depth() + jobs > queue->settings.depth_max)
      return Error{ErrorCode::QueueFull,
                   "queue '" + std::string(queue_of_scoped(name)) + "' holds at most " +
                       std::to_string(queue->settings.depth_max) +
                       " jobs: " + std::to_string(queue->depth()) +
                       " wait, and the workflow starts with " + std::to_string(jobs)};
  }
  return ok_status();
}

StepOutcome outcome_of(const State& state, const Uuid& child) {
  StepOutcome outcome;
  outcome.retryable = true;
  if (const Job* job = state.find_job(JobId(child))) {
    outcome.ok = job->state == JobState::Completed;
    outcome.output = job->result;
    if (outcome.ok) return outcome;
    outcome.error = {"STEP_FAILED", "the job did not complete", "", ""};
    if (job->state == JobState::Cancelled) {
      outcome.error = {"CANCELLED", "the job was cancelled", "", ""};
    } else if (job->expired) {
      outcome.error = {"TIMEOUT_ERROR", "the job expired before a worker took it", "", ""};
    } else if (job->extras && !job->extras->errors.empty()) {
      const JobError& last = job->extras->errors.back();
      outcome.error = {last.code.empty() ? "STEP_FAILED" : last.code, last.message, last.details,
                       ""};
      outcome.retryable = !last.final;
    }
    return outcome;
  }
  const Run* run = state.find_run(RunId(child));
  if (run == nullptr) {
    outcome.error = {"STEP_FAILED", "what it waited for was deleted", "", ""};
    return outcome;
  }
  outcome.ok = run->state == RunState::Completed;
  std::string results;
  size_t most = state.script_defaults().output_bytes_max;
  bool fits = append_run_result(results, state, *run, most);
  if (!fits && outcome.ok) {
    outcome.ok = outcome.retryable = false;
    outcome.error = {"NON_RETRYABLE",
                     "its results are together larger than " + std::to_string(most) +
                         " bytes, the limit of an output",
                     "", ""};
    return outcome;
  }
  if (!fits) results = "null";
  std::string text;
  json::Writer w(text);
  w.begin_object().field("workflow_id", shown_id(*run)).field("state", state_name(run->state));
  w.key("results").raw(results).end_object();
  if (outcome.ok) {
    outcome.output = text;
  } else {
    outcome.error = {run->state == RunState::Cancelled ? "CANCELLED" : "STEP_FAILED",
                     "the " + std::string(kind_name(run->kind)) + " " +
                         std::string(state_name(run->state)) +
                         (run->reason.empty() ? "" : ": " + run->reason),
                     text, ""};
  }
  return outcome;
}

}  // namespace pawl
