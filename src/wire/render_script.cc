#include "wire/render_script.h"

#include <set>

#include "kernel/compositions/run_values.h"
#include "kernel/run.h"
#include "kernel/scripts/commands.h"
#include "kernel/scripts/expression_names.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/step_names.h"
#include "kernel/scripts/stored_decision.h"
#include "kernel/scripts/text.h"
#include "kernel/settings/doc.h"
#include "kernel/state.h"
#include "wire/field_choice.h"
#include "wire/render_workflow.h"

namespace pawl {
namespace {

constexpr size_t kStatusesMax = 10'000;  // of a diagram
constexpr size_t kInnerWaitsMax = 100;   // listed per step; explain counts the rest

// The JSON text, or null and a marker where there is no room for it.
// std::string or Text, which is read only if it is shown
void render_value(json::Writer& w, const std::string& name, const auto& text, ReplyRoom& room) {
  if (room.takes(text.size())) {
    w.field_raw(name, text);
  } else {
    w.key(name).null().field_bool(name + "_omitted", true);
  }
}

void render_step_error(json::Writer& w, const StepError& error, ReplyRoom& room) {
  w.begin_object().field("code", error.code).field("message", error.message);
  if (!error.step.empty()) w.field("step_id", error.step);
  if (!error.details.empty()) render_value(w, "details", error.details, room);
  w.end_object();
}

// A fallback that was not needed is skipped once the run has ended.
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

// The inner run that a step waits for.
const Run* run_in_place(const State& state, const Run& run, const StepRecord& record) {
  return record.effect == 0 ? nullptr : state.find_run(RunId(child_id(run, record.effect)));
}

// What a suspended inner run waits for, at any depth: each entry names the run to which an answer
// must be sent, and the step there.
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

// Paths of the steps that a rollback has undone.
using Undone = std::set<std::string_view>;

Undone undone_in(const Run& run) {
  return {run.script->compensated.begin(), run.script->compensated.end()};
}

void render_step(json::Writer& w, const State& state, const Run& run, const pawl::Scope& scope,
                 const plan::Script& plan, uint32_t position, const Undone& undone,
                 ReplyRoom& room) {
  const StepRecord& record = scope.records[position];
  const plan::Step& step = plan.at(scope.list, position);
  const StepRecord& shown = effective_record(scope, plan, record, position);
  w.begin_object().field("status", status_of(run, record)).field("type", step.type_name);
  if (!step.label.empty()) w.field("label", step.label);
  if (!step.action.empty()) w.field("action", step.action);
  w.field_int("attempts", record.attempt);
  w.field_time_if_set("started_at", record.started_ms);
  w.field_time_if_set("completed_at", record.finished_ms);
  if (record.started_ms != 0 && record.finished_ms != 0)
    w.field_int("duration_ms", record.finished_ms - record.started_ms);
  if (shown.state == StepState::Completed && !shown.output.empty())
    render_value(w, "output", shown.output, room);
  if (!record.error.empty()) {
    w.key(record.state == StepState::Completed ? "ignored_error" : "error");
    render_step_error(w, record.error, room);
  }
  if (!record.reason.empty()) w.field("reason", record.reason);
  if (step.dormant && record.state == StepState::Pending) w.field_bool("fallback", true);
  if (!record.choice.empty()) w.field("choice", record.choice);
  if (!undone.empty() && undone.count(join_path(scope.path, step.id)) != 0)
    w.field_bool("compensated", true);
  render_wait(w, state, run, record);
  w.end_object();
}

// The active steps, innermost last.
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

// The data of a question may be large, and is read with it: past the room no more questions are
// read.
void render_decision(json::Writer& w, const State& state, const std::string& id, ReplyRoom& room) {
  if (room.full()) {
    w.key("context").null().field_bool("context_omitted", true);
    return;
  }
  const Doc* doc = state.find_doc(DocKind::Decision, id);
  StoredDecision decision;
  if (doc == nullptr || !codec::decode(doc->value, decision)) return;
  w.field("status", decision.status);
  render_value(w, "context", decision.context, room);
  w.field_time("created_at", decision.created_ms);
  w.field_time_if_set("expires_at", decision.expires_ms);
}

void render_decisions(json::Writer& w, const State& state, const Run& run, const plan::Script& plan,
                      ReplyRoom& room) {
  w.key("pending_decisions").begin_array();
  for (const std::string& path : run.script->live) {
    const pawl::Scope* scope = state.find_scope(run, path);
    for (uint32_t i = 0; scope != nullptr && i < scope->records.size(); ++i) {
      const StepRecord& record = scope->records[i];
      if (record.decision.empty()) continue;
      w.begin_object().field("id", record.decision);
      w.field("step_id", join_path(path, plan.at(scope->list, i).id));
      render_decision(w, state, record.decision, room);
      w.end_object();
    }
  }
  w.end_array();
}

void render_context(json::Writer& w, const ScriptRun& script, ReplyRoom& room) {
  std::vector<std::string_view> omitted;
  w.key("context").begin_object();
  for (const Variable& variable : script.variables) {
    if (room.takes(variable.value.size())) {
      w.field_raw(variable.key, variable.value);
    } else {
      omitted.push_back(variable.key);
    }
  }
  w.end_object();
  if (omitted.empty()) return;
  w.key("context_omitted").begin_array();
  for (std::string_view name : omitted) w.string(name);
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
  Counts counts = count_steps(state, run, state.script_of(run));
  size_t over = counts.completed + counts.failed + counts.skipped;
  bool completed = run.state == RunState::Completed;
  w.key("progress")
      .real(completed           ? 1
            : counts.total == 0 ? 0
                                : static_cast<double>(over) / static_cast<double>(counts.total));
  w.key("counts").begin_object().field_int("total", counts.total);
  w.field_int("completed", counts.completed);
  w.field_int("failed", counts.failed);
  w.field_int("skipped", counts.skipped).end_object();
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
    ReplyRoom room(SIZE_MAX);  // one error is small
    render_step_error(w, script.error, room);
  }
  if (!script.reason.empty()) w.field("reason", script.reason);
}

std::string script_run_body(const State& state, const Run& run, const StepsPage& page) {
  json::ObjectWriter w;
  w.key("run");
  begin_script_run(w, state, run);
  const ScriptRun& script = *run.script;
  ReplyRoom room(page.bytes_max);
  auto chosen = [&](std::string_view member) { return is_chosen(page.fields, member); };
  auto value = [&](const std::string& member, const Text& text, std::string_view none) {
    if (!chosen(member)) return;
    text.empty() ? (void)w.field_raw(member, none) : render_value(w, member, text, room);
  };
  value("inputs", script.inputs, "{}");
  value("output", script.output, "null");
  if (chosen("context")) render_context(w, script, room);
  const plan::Script* plan = state.script_of(run);
  if (plan == nullptr) {
    w.field("note", "the text of its definition is gone").end_object();
    return w.close();
  }
  render_current(w, state, run, *plan);
  if (chosen("pending_decisions")) render_decisions(w, state, run, *plan, room);
  size_t at = 0;
  bool more = false;
  const bool steps = chosen("steps");
  const Undone undone = undone_in(run);
  // Besides large values there may be many steps with error messages.
  auto text_bytes = [&, begun = w.out().size() - room.taken()] {
    return w.out().size() - room.taken() - begun;
  };
  const size_t text_bytes_max = page.bytes_max == SIZE_MAX ? SIZE_MAX : kPageBytesMax;
  w.key("steps").begin_object();
  state.each_scope(run, "", [&](const pawl::Scope& scope) {
    for (uint32_t i = 0; i < scope.records.size(); ++i, ++at) {
      if (at < page.from) continue;
      if (at - page.from >= page.count || text_bytes() >= text_bytes_max) return !(more = true);
      if (!steps) continue;
      w.key(join_path(scope.path, plan->at(scope.list, i).id));
      render_step(w, state, run, scope, *plan, i, undone, room);
    }
    return true;
  });
  w.end_object();
  if (more) w.field("next_cursor", std::to_string(at));
  w.end_object();
  return w.close();
}

Result<std::string> script_step_body(const State& state, const Run& run, std::string_view step) {
  const plan::Script* plan = state.script_of(run);
  auto [path, id] = split_step(step);
  const pawl::Scope* scope = plan == nullptr ? nullptr : state.find_scope(run, path);
  for (uint32_t i = 0; scope != nullptr && i < scope->records.size(); ++i) {
    if (plan->at(scope->list, i).id != id) continue;
    json::ObjectWriter w;
    ReplyRoom room(SIZE_MAX);
    w.key("step");
    render_step(w, state, run, *scope, *plan, i, undone_in(run), room);
    return w.close();
  }
  return Error{ErrorCode::NotFound,
               "the run has entered no step " + std::string(step.substr(0, 128))};
}

Result<std::string> script_variable_body(const Run& run, std::string_view name) {
  for (const Variable& variable : run.script->variables) {
    if (variable.key != name) continue;
    json::ObjectWriter w;
    w.field("name", name).field_raw("value", variable.value);
    return w.close();
  }
  return Error{ErrorCode::NotFound, "the run has no variable " + std::string(name.substr(0, 128))};
}

std::vector<PlacedStatus> placed_statuses(const State& state, const Run& run) {
  std::vector<PlacedStatus> statuses;
  state.each_scope(run, "", [&](const pawl::Scope& scope) {
    for (uint32_t i = 0; i < scope.records.size(); ++i)
      statuses.push_back({scope.path, scope.list, i, status_of(run, scope.records[i])});
    return statuses.size() < kStatusesMax;
  });
  return statuses;
}

}  // namespace pawl
