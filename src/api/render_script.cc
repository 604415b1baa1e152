#include "api/render_script.h"

#include "api/field_choice.h"
#include "api/ojs/render_workflow.h"
#include "kernel/run_values.h"
#include "kernel/script_commands.h"

namespace pawl::api {
namespace {

constexpr size_t kInnerWaitsMax = 100;  // told of one step; explain counts the rest

void render_error(json::Writer& w, const StepError& error) {
  w.begin_object().field("code", error.code).field("message", error.message);
  if (!error.step.empty()) w.field("step_id", error.step);
  if (!error.details.empty()) w.field_raw("details", error.details);
  w.end_object();
}

// A step that was never called upon is not pending for ever.
std::string_view status_of(const Run& run, const StepRecord& record) {
  if (record.state == StepState::Pending && is_terminal(run.state)) return "skipped";
  return step_state_name(record.state);
}

void render_what_for(json::Writer& w, const StepRecord& record) {
  if (!record.decision.empty()) w.field("decision_id", record.decision);
  if (!record.signal.empty()) w.field("signal", record.signal);
  w.field("for", !record.decision.empty()              ? "decision"
                 : !record.signal.empty()              ? "signal"
                 : record.effect != 0                  ? "run"
                 : record.state == StepState::Retrying ? "retry"
                                                       : "time");
  w.field_time_if_set("until", record.due_ms);
}

// The run that fills the place of a step that waits for it.
const Run* run_in_place(const State& state, const Run& run, const StepRecord& record) {
  return record.effect == 0 ? nullptr : state.find_run(RunId(child_id(run, record.effect)));
}

// What a suspended run within a run waits for, however deep it is: each entry names the run to
// which an answer has to go, and the step there.
void render_inner_waits(json::Writer& w, const State& state, const Run& run, size_t& left) {
  if (run.script->paused && left > 0) {
    --left;
    w.begin_object().field("run_id", shown_id(run)).field("for", "resume").end_object();
  }
  for (const std::string& path : run.script->live) {
    const pawl::Scope* scope = state.find_scope(run, path);
    for (size_t i = 0; scope != nullptr && i < scope->records.size() && left > 0; ++i) {
      const StepRecord& record = scope->records[i];
      if (record.state != StepState::Suspended) continue;
      const Run* inner = run_in_place(state, run, record);
      if (inner != nullptr && inner->script) {
        render_inner_waits(w, state, *inner, left);
        continue;
      }
      --left;
      w.begin_object().field("run_id", shown_id(run)).field("step_id", join_path(path, record.id));
      render_what_for(w, record);
      w.end_object();
    }
  }
}

void render_wait(json::Writer& w, const State& state, const Run& run, const StepRecord& record) {
  const Run* inner = run_in_place(state, run, record);
  if (inner != nullptr) w.field("run_id", shown_id(*inner));
  bool waits = record.state == StepState::Suspended || record.state == StepState::Retrying ||
               record.due == DueKind::Wait;
  if (!waits) return;
  w.key("wait").begin_object();
  render_what_for(w, record);
  if (inner != nullptr && inner->script) {
    size_t left = kInnerWaitsMax;
    w.key("waiting_for").begin_array();
    render_inner_waits(w, state, *inner, left);
    w.end_array();
  }
  w.end_object();
}

void render_step(json::Writer& w, const State& state, const Run& run, const pawl::Scope& scope,
                 const plan::Script& plan, uint32_t position) {
  const StepRecord& record = scope.records[position];
  const plan::Step& step = plan.at(scope.list, position);
  const StepRecord& shown = effective_record(scope, plan, record, position);
  w.key(join_path(scope.path, step.id)).begin_object();
  w.field("status", status_of(run, record)).field("type", step.type_name);
  if (!step.label.empty()) w.field("label", step.label);
  if (!step.action.empty()) w.field("action", step.action);
  w.field_int("attempts", record.attempt);
  w.field_time_if_set("started_at", record.started_ms);
  w.field_time_if_set("completed_at", record.finished_ms);
  if (record.started_ms != 0 && record.finished_ms != 0)
    w.field_int("duration_ms", record.finished_ms - record.started_ms);
  if (!shown.output.empty()) w.field_raw("output", shown.output);
  if (!record.error.empty()) {
    w.key(record.state == StepState::Completed ? "ignored_error" : "error");
    render_error(w, record.error);
  }
  if (!record.reason.empty()) w.field("reason", record.reason);
  if (step.dormant && record.state == StepState::Pending) w.field_bool("fallback", true);
  if (!record.choice.empty()) w.field("choice", record.choice);
  for (const std::string& undone : run.script->compensated)
    if (undone == join_path(scope.path, step.id)) w.field_bool("compensated", true);
  render_wait(w, state, run, record);
  w.end_object();
}

// Those that do something, innermost last.
void render_current(json::Writer& w, const State& state, const Run& run, const plan::Script& plan) {
  std::string first;
  w.key("current_steps").begin_array();
  for (const std::string& path : run.script->live) {
    const pawl::Scope* scope = state.find_scope(run, path);
    for (uint32_t i = 0; scope != nullptr && i < scope->records.size(); ++i) {
      StepState step = scope->records[i].state;
      if (step == StepState::Pending || is_over(step)) continue;
      std::string id = join_path(path, plan.at(scope->list, i).id);
      if (first.empty()) first = id;
      w.string(id);
    }
  }
  w.end_array();
  w.key("current_step");
  first.empty() ? w.null() : w.string(first);
}

void render_decisions(json::Writer& w, const State& state, const Run& run,
                      const plan::Script& plan) {
  w.key("pending_decisions").begin_array();
  for (const std::string& path : run.script->live) {
    const pawl::Scope* scope = state.find_scope(run, path);
    for (uint32_t i = 0; scope != nullptr && i < scope->records.size(); ++i) {
      const StepRecord& record = scope->records[i];
      if (record.decision.empty()) continue;
      w.begin_object().field("id", record.decision);
      w.field("step_id", join_path(path, plan.at(scope->list, i).id));
      const Doc* doc = state.find_doc(DocKind::Decision, record.decision);
      StoredDecision decision;
      if (doc != nullptr && codec::decode(doc->value, decision)) {
        w.field("status", decision.status).field_raw("context", decision.context);
        w.field_time("created_at", decision.created_ms);
        w.field_time_if_set("expires_at", decision.expires_ms);
      }
      w.end_object();
    }
  }
  w.end_array();
}

struct Counts {
  size_t total = 0;
  size_t completed = 0;
  size_t failed = 0;
  size_t skipped = 0;
};

Counts count_steps(const State& state, const Run& run, const plan::Script* plan) {
  Counts counts;
  const pawl::Scope* root = state.find_scope(run, "");
  for (uint32_t i = 0; root != nullptr && plan != nullptr && i < root->records.size(); ++i) {
    StepState step = root->records[i].state;
    if (plan->at(root->list, i).dormant && step == StepState::Pending) continue;
    ++counts.total;
    counts.completed += step == StepState::Completed ? 1 : 0;
    counts.failed += step == StepState::Failed ? 1 : 0;
    counts.skipped += step == StepState::Skipped ? 1 : 0;
  }
  return counts;
}

}  // namespace

void begin_script_run(json::Writer& w, const State& state, const Run& run) {
  const ScriptRun& script = *run.script;
  w.begin_object().field("id", workflow_id_text(run)).field("kind", kind_name(run.kind));
  w.field("definition", script.definition).field("version", script.version);
  w.field("status", script_status_name(script.status));
  if (script.paused) w.field_bool("paused", true);
  Counts counts = count_steps(state, run, state.plan_of(run));
  size_t over = counts.completed + counts.failed + counts.skipped;
  bool completed = run.state == RunState::Completed;
  w.key("progress")
      .real(completed           ? 1
            : counts.total == 0 ? 0
                                : static_cast<double>(over) / static_cast<double>(counts.total));
  w.key("counts").begin_object().field_int("total", static_cast<int64_t>(counts.total));
  w.field_int("completed", static_cast<int64_t>(counts.completed));
  w.field_int("failed", static_cast<int64_t>(counts.failed));
  w.field_int("skipped", static_cast<int64_t>(counts.skipped)).end_object();
  w.field_time("created_at", run.created_ms);
  w.field_time_if_set("started_at", run.started_ms);
  w.field_time_if_set("completed_at", run.finished_ms);
  w.field_time_if_set("times_out_at", script.timeout_at_ms);
  if (!script.agent_id.empty()) w.field("agent_id", script.agent_id);
  if (script.priority != 0) w.field_int("priority", script.priority);
  if (!run.parent.run.is_nil())
    w.key("parent")
        .begin_object()
        .field("run_id", shown_run_id(state, run.parent.run))
        .end_object();
  if (!script.error.empty()) {
    w.key("error");
    render_error(w, script.error);
  }
  if (!script.reason.empty()) w.field("reason", script.reason);
}

std::string script_run_body(const State& state, const Run& run, const StepsPage& page) {
  std::string body;
  json::Writer w(body);
  w.begin_object().key("run");
  begin_script_run(w, state, run);
  const ScriptRun& script = *run.script;
  auto chosen = [&](std::string_view member) { return is_chosen(page.fields, member); };
  if (chosen("inputs")) w.field_raw("inputs", script.inputs.empty() ? "{}" : script.inputs.str());
  if (chosen("output")) w.field_raw("output", script.output.empty() ? "null" : script.output.str());
  if (chosen("context")) {
    w.key("context").begin_object();
    for (const Variable& variable : script.variables) w.field_raw(variable.key, variable.value);
    w.end_object();
  }
  const plan::Script* plan = state.plan_of(run);
  if (plan == nullptr) {
    w.field("note", "the text of its definition is gone").end_object().end_object();
    return body;
  }
  render_current(w, state, run, *plan);
  render_decisions(w, state, run, *plan);
  size_t at = 0;
  bool more = false;
  const bool steps = chosen("steps");
  w.key("steps").begin_object();
  state.each_scope(run, "", [&](const pawl::Scope& scope) {
    for (uint32_t i = 0; i < scope.records.size(); ++i, ++at) {
      if (at < page.from) continue;
      if (at - page.from >= page.count) return !(more = true);
      if (steps) render_step(w, state, run, scope, *plan, i);
    }
    return true;
  });
  w.end_object();
  if (more) w.field("next_cursor", std::to_string(page.from + page.count));
  w.end_object().end_object();
  return body;
}

plan::StepStatuses step_statuses(const State& state, const Run& run) {
  plan::StepStatuses statuses;
  const plan::Script* plan = state.plan_of(run);
  if (plan == nullptr) return statuses;
  state.each_scope(run, "", [&](const pawl::Scope& scope) {
    for (uint32_t i = 0; i < scope.records.size(); ++i)
      statuses[join_path(scope.path, plan->at(scope.list, i).id)] =
          status_of(run, scope.records[i]);
    return statuses.size() < 10'000;
  });
  return statuses;
}

}  // namespace pawl::api
