#include "kernel/scripts/commands.h"

#include "base/hash.h"
#include "expr/schema/json_schema.h"
#include "kernel/compositions/run_flow.h"
#include "kernel/messages/claims.h"
#include "kernel/run.h"
#include "kernel/scripts/admission.h"
#include "kernel/scripts/breakers.h"
#include "kernel/scripts/checks.h"
#include "kernel/scripts/lists.h"
#include "kernel/scripts/outside_step.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/run_end.h"
#include "kernel/scripts/step_kind.h"
#include "kernel/scripts/step_names.h"
#include "kernel/scripts/stored_definition.h"
#include "kernel/scripts/suspension.h"
#include "kernel/settings/doc.h"
#include "kernel/state.h"
#include "plan/canonical.h"

namespace pawl {
namespace {

using scripts::At;
using scripts::RunContext;

constexpr uint32_t kNestedRunsMax = 32;

Error no_such_run(const RunId& id) {
  return Error{ErrorCode::NotFound, "Run " + id.text() + " not found"};
}

// The inputs with the definition's defaults, checked against its schema.
Result<std::string> full_inputs(const State& state, const plan::Script& plan,
                                const std::string& schema_text, const std::string& given) {
  Value inputs = Value::Object{};
  if (!given.empty()) {
    PAWL_TRY(inputs, Value::parse(given));
  }
  if (!inputs.is_object())
    return Error{ErrorCode::InvalidContent,
                 "inputs must be an object",
                 {{"inputs", "must be an object", "type"}}};
  if (plan.inputs.is_object())
    for (const Value::Member& member : plan.inputs.as_object())
      if (!inputs.as_object().contains(member.key))
        inputs.as_object().set(member.key, member.value);
  if (schema_text.empty() || schema_text == "null") return inputs.json();
  PAWL_TRY(auto schema, state.compiled_schema(schema_text));
  schema->fill_defaults(inputs);
  std::vector<expr::SchemaFault> faults = schema->check(inputs);
  if (faults.empty()) return inputs.json();
  Error error{ErrorCode::InvalidContent, "the inputs do not fit the definition's schema"};
  for (const expr::SchemaFault& fault : faults) {
    std::string path = "inputs" + (fault.path.empty() ? "" : "." + fault.path);
    error.message += "; " + path + ": " + fault.message;
    // A schema that is just `false`: no value is valid.
    error.complaints.push_back(
        {path, fault.message, fault.keyword == "false" ? "unknown_field" : fault.keyword});
  }
  return error;
}

// Refuses unless it is an unfinished run of a definition.
Status check_live(const State& state, const RunId& id, std::string_view verb) {
  const Run* run = find_script(state, id);
  if (run == nullptr) return no_such_run(id);
  if (is_terminal(run->state))
    return Error{ErrorCode::Conflict, "Run " + shown_id(*run) + " is " +
                                          std::string(script_status_name(run->script->status)) +
                                          " and cannot be " + std::string(verb)};
  return ok_status();
}

}  // namespace

const Run* find_script(const State& state, const RunId& id) {
  const Run* run = state.find_run(id);
  return run != nullptr && run->kind == RunKind::Script ? run : nullptr;
}

const Doc* find_definition(const State& state, std::string_view name, std::string_view version,
                           StoredDefinition& stored) {
  std::string wanted(version);
  if (wanted.empty()) {
    const Doc* newest = state.find_doc(DocKind::Definition, name);
    if (newest == nullptr) return nullptr;
    wanted = newest->value;
  }
  const Doc* doc = state.find_doc(DocKind::Definition, definition_key(name, wanted));
  if (doc == nullptr || !codec::decode(doc->value, stored) || stored.removed) return nullptr;
  return doc;
}

Result<RunId> start_script(Frame& frame, const StartScript& command) {
  const State& state = frame.state();
  if (!command.id.is_nil() &&
      (state.find_run(command.id) != nullptr || is_taken_elsewhere(state, command.id)))
    return Error{ErrorCode::Duplicate,
                 "a run with the id " +
                     (command.client_id.empty() ? command.id.text() : command.client_id) +
                     " exists already"};
  ScriptCreated event;
  event.run = command.id.is_nil() ? RunId(frame.fresh_id()) : command.id;
  event.children_at = children_mark(state, event.run);
  event.definition = command.definition;
  std::string canonical = command.source;
  std::string schema;
  if (command.source.empty()) {
    StoredDefinition stored;
    if (find_definition(state, command.definition, command.version, stored) == nullptr)
      return Error{ErrorCode::NotFound,
                   "definition '" + command.definition + "'" +
                       (command.version.empty() ? "" : " version '" + command.version + "'") +
                       " not found"};
    event.version = stored.version;
    schema = stored.input_schema;
    canonical = stored.canonical;
  } else {
    event.source = command.source;
    event.version = command.version;
  }
  uint32_t depth = 0;
  for (const Run* around = state.find_run(command.parent.run); around != nullptr;
       around = state.find_run(around->parent.run))
    if (++depth > kNestedRunsMax)
      return Error{ErrorCode::InvalidContent,
                   "runs are nested more than " + std::to_string(kNestedRunsMax) + " deep"};
  const plan::Script* plan = state.compiled_script(canonical);
  if (plan == nullptr) return Error{ErrorCode::InvalidContent, "the definition cannot be compiled"};
  if (schema.empty() && plan->input_schema.is_object()) schema = plan->input_schema.json();
  const size_t bytes_max = state.script_defaults().output_bytes_max;
  PAWL_TRY_DO(scripts::judge_text("inputs", command.inputs, bytes_max));
  frame.meter().charge_parsed(command.inputs.size());
  PAWL_TRY(event.inputs, full_inputs(state, *plan, schema, command.inputs));
  if (event.inputs.size() > state.script_defaults().run_bytes_max)
    return Error{ErrorCode::TooLarge,
                 "inputs of " + std::to_string(event.inputs.size()) + " bytes; a run holds " +
                     std::to_string(state.script_defaults().run_bytes_max) + " at most"};
  event.agent_id = command.agent_id;
  event.client_id = command.client_id;
  event.parent = command.parent;
  event.tenant = command.tenant;
  event.meta = command.meta;
  event.priority = command.priority != 0 ? command.priority : plan->priority;
  event.timeout_ms = plan->timeout_ms;
  if (event.definition.empty()) event.definition = plan->name;
  if (event.definition.empty() && plan->max_concurrent != 0) {
    std::array<uint8_t, 32> digest = sha256(canonical);
    event.text_digest.assign(digest.begin(), digest.end());
  }
  std::string own = definition_gate(event.definition, event.text_digest);
  PAWL_TRY(std::string gate, gate_before(state, *plan, own, event.parent.run));
  frame.emit(event);
  if (gate.empty()) {
    begin_script(frame, event.run, command.end_is_seen);
  } else {
    wait_at_gate(frame, event.run, gate);
  }
  return event.run;
}

void begin_script(Frame& frame, const RunId& id, bool end_is_seen) {
  RunContext run(frame, id);
  run.end_is_seen = end_is_seen;
  frame.emit(scripts::moved_event(run, ScriptStatus::Active));
  scripts::open_list(run, nullptr, "", run.plan().root, false, 0, "");
  scripts::drain(run);
}

// --- receipts

void effect_done(Frame& frame, const RunId& id, uint32_t effect, StepOutcome outcome) {
  if (frame.is_making_child())
    return frame.postpone([&frame, id, effect, outcome = std::move(outcome)] {
      effect_done(frame, id, effect, outcome);
    });
  const Run* live = find_script(frame.state(), id);
  if (live == nullptr || is_terminal(live->state)) return;
  if (live->script->step_of_effect(effect) == nullptr) return;
  if (!outcome.breaker.empty()) note_breaker(frame, *live, effect, outcome);
  RunContext run(frame, id);
  const std::string* path = run.script().step_of_effect(effect);
  At at;
  if (path == nullptr || !run.find(*path, at) || run.record(at).effect != effect) return;
  scripts::kind_of(*at.step).answered(run, at, std::move(outcome));
  // Thousands of receipts may arrive before a run that has yielded gets its next turn: each is
  // recorded, and their consequences wait for that turn.
  run.cut_short = run.script().yielded_ms != 0;
  scripts::drain(run);
}

// --- pausing, resuming, cancelling

Status pause_script(Frame& frame, const RunId& id, bool now) {
  PAWL_TRY_DO(check_live(frame.state(), id, "paused"));
  RunContext run(frame, id);
  bool paused = run.script().paused;
  if (paused && !now) return ok_status();
  ScriptPaused event;
  event.run = id;
  event.paused = true;
  event.reason = "paused";
  if (!paused) frame.emit(event);
  if (now) scripts::stop_open_effects(run);
  scripts::drain(run);
  return ok_status();
}

Status resume_script(Frame& frame, const RunId& id) {
  PAWL_TRY_DO(check_live(frame.state(), id, "resumed"));
  RunContext run(frame, id);
  if (!run.script().paused) return ok_status();
  ScriptPaused event;
  event.run = id;
  frame.emit(event);
  scripts::schedule_all_checks(run);
  scripts::drain(run);
  return ok_status();
}

Status cancel_script(Frame& frame, const RunId& id, const std::string& reason, bool rollback) {
  PAWL_TRY_DO(check_live(frame.state(), id, "cancelled"));
  RunContext run(frame, id);
  if (run.script().paused) {
    ScriptPaused event;
    event.run = id;
    frame.emit(event);
  }
  if (run.script().status == ScriptStatus::Pending) {
    ScriptPhased event;
    event.run = id;
    event.phase = ScriptPhase::Hooks;
    event.outcome = ScriptStatus::Cancelled;
    event.reason = reason;
    frame.emit(event);
    scripts::finish_run(run);
    return ok_status();
  }
  scripts::abort_run(run, ScriptStatus::Cancelled, {}, reason, rollback);
  scripts::drain(run);
  return ok_status();
}

// --- more of it, while it runs

Status extend_script(Frame& frame, const RunId& id, const std::string& canonical,
                     const std::string& data) {
  PAWL_TRY_DO(check_live(frame.state(), id, "extended"));
  RunContext run(frame, id);
  const Scope* root = run.scope("");
  if (root == nullptr || root->closed)
    return Error{ErrorCode::Conflict, "its steps are over: nothing can be added"};
  const plan::Script* next = run.state.compiled_script(canonical);
  if (next == nullptr) return Error{ErrorCode::InvalidContent, "the definition cannot be compiled"};
  const plan::List& list = next->lists[next->root];
  if (list.steps.size() < root->records.size())
    return Error{ErrorCode::InvalidContent, "steps can be added, not removed"};
  const Value before = plan::canonical_definition(run.plan());
  const Value after = plan::canonical_definition(*next);
  for (uint32_t i = 0; i < root->records.size(); ++i)
    if (before.find("steps")->as_array()[i].json() != after.find("steps")->as_array()[i].json())
      return Error{ErrorCode::InvalidContent, "the steps there are must stay as they are"};
  ScriptExtended event;
  event.run = id;
  event.source = canonical;
  event.data = data;
  event.steps = static_cast<uint32_t>(list.steps.size());
  for (size_t i = root->records.size(); i < list.steps.size(); ++i)
    event.dormant += next->steps[list.steps[i]].dormant ? 1 : 0;
  frame.emit(event);
  run.schedule_check(scripts::CheckKind::List, "");
  scripts::drain(run);
  return ok_status();
}

}  // namespace pawl
