#include "kernel/scripts/run_actions.h"

#include <initializer_list>
#include <utility>

#include "kernel/scripts/children.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/outside_step.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/step_end.h"
#include "plan/action_kind.h"
#include "plan/script.h"

namespace pawl::scripts {
namespace {

const Value* first_of(const Value& params, std::initializer_list<std::string_view> names) {
  for (std::string_view name : names)
    if (const Value* found = params.find(name)) return found;
  return nullptr;
}

StepOutcome done_with(Value output) {
  StepOutcome outcome;
  outcome.ok = true;
  outcome.output = output.json();
  return outcome;
}

StepOutcome said(std::string_view key) {
  Value::Object output;
  output.set(key, true);
  return done_with(std::move(output));
}

// Parameters that are not named by the action are data.
Value unnamed_data(const Value& params, std::initializer_list<std::string_view> named) {
  Value::Object data;
  if (const Value* given = params.find("data"); given != nullptr && given->is_object())
    data = given->as_object();
  else if (given != nullptr)
    data.set("data", *given);
  if (!params.is_object()) return data;
  for (const Value::Member& member : params.as_object()) {
    bool known = member.key == "data";
    for (std::string_view name : named) known = known || member.key == name;
    if (!known) data.set(member.key, member.value);
  }
  return data;
}

StepOutcome fail_run(RunContext&, const At& at, const Value& params) {
  std::string reason = text_of(first_of(params, {"reason", "message"}));
  return failed_outcome("NON_RETRYABLE", reason.empty() ? at.step->action : reason, false);
}

StepOutcome emit_event(RunContext& run, const At& at, const Value& params) {
  std::string type = text_of(first_of(params, {"event_type", "event", "signal"}));
  if (type.empty())
    return failed_outcome("VALIDATION_ERROR", at.step->action + " needs event_type", false);
  Value::Object data;
  data.set("event_type", type);
  const Value* payload = first_of(params, {"payload", "data"});
  data.set("payload", payload == nullptr ? Value() : *payload);
  run.note(at, "workflow_event", data);
  return said("emitted");
}

StepOutcome write_message(RunContext& run, const At& at, const Value& params, bool log) {
  std::string message = text_of(params.find("message"));
  if (message.empty())
    return failed_outcome("VALIDATION_ERROR", at.step->action + " needs message", false);
  Value::Object data;
  data.set("message", message);
  if (log) {
    std::string level = text_of(params.find("level"));
    data.set("level", level.empty() ? "info" : level);
  }
  data.set("data", unnamed_data(params, {"message", "level"}));
  run.note(at, log ? "workflow_log" : "workflow_notification", data);
  return said(log ? "logged" : "notified");
}

StepOutcome write_log(RunContext& run, const At& at, const Value& params) {
  return write_message(run, at, params, true);
}

StepOutcome notify_agent(RunContext& run, const At& at, const Value& params) {
  return write_message(run, at, params, false);
}

StepOutcome read_context(RunContext& run) {
  Value::Object output;
  output.set("workflow_id", run.id.text());
  uint64_t bytes = 0;
  for (const Variable& variable : run.script().variables) bytes += held_by(variable) + 4;
  if (bytes > run.output_max())
    return failed_outcome("NON_RETRYABLE",
                          "the run's variables are together larger than " +
                              std::to_string(run.output_max()) + " bytes, the limit of an output",
                          false);
  run.frame.meter().charge_parsed(bytes);
  Value::Object variables;
  for (const Variable& variable : run.script().variables) {
    auto value = Value::parse(variable.value);
    variables.set(variable.key, value.ok() ? std::move(value).value() : Value());
  }
  output.set("data", std::move(variables));
  output.set("agent_id", run.script().agent_id);
  return done_with(std::move(output));
}

StepOutcome change_context(RunContext& run, const At&, const Value& params) {
  std::string what = text_of(params.find("action"));
  if (what == "read" || what.empty()) return read_context(run);
  if (what != "update")
    return failed_outcome("VALIDATION_ERROR", "action must be read or update", false);
  const Value* data = params.find("data");
  if (data != nullptr && data->is_object() &&
      run.script().variables.size() + data->as_object().size() > kVariablesMax)
    return failed_outcome("VALIDATION_ERROR",
                          "a run holds " + std::to_string(kVariablesMax) + " variables at most",
                          false);
  std::string whole = params.json();
  if (!run.has_room_for(whole.size()))
    return failed_outcome("RUN_TOO_LARGE", run.room_told(whole.size()), false);
  if (data != nullptr && data->is_object())
    for (const Value::Member& member : data->as_object())
      run.frame.emit(VariableSet{run.id, member.key, member.value.json()});
  for (std::string_view key : {"agent_notes", "intent"})
    if (const Value* value = params.find(key))
      run.frame.emit(VariableSet{run.id, std::string(key), value->json()});
  Value::Object output;
  output.set("updated", true);
  output.set("workflow_id", run.id.text());
  return done_with(std::move(output));
}

void start_run(RunContext& run, const At& at, uint32_t effect, const Value& params) {
  StartScript command = child_command(run, effect);
  command.definition = text_of(first_of(params, {"template_name", "definition", "name"}));
  command.version = text_of(params.find("version"));
  if (const Value* inputs = first_of(params, {"params", "inputs"}); inputs && inputs->is_object())
    command.inputs = inputs->json();
  start_child(run, at, std::move(command));
}

using Act = StepOutcome (*)(RunContext&, const At&, const Value& params);

Act act_of(plan::ActionKind kind) {
  switch (kind) {
    case plan::ActionKind::Emit:
      return emit_event;
    case plan::ActionKind::Context:
      return change_context;
    case plan::ActionKind::Fail:
      return fail_run;
    case plan::ActionKind::Log:
      return write_log;
    case plan::ActionKind::Notify:
      return notify_agent;
    case plan::ActionKind::StartRun:
    case plan::ActionKind::Outside:
    case plan::ActionKind::Pure:
    case plan::ActionKind::Evaluation:
      break;
  }
  PAWL_CHECK(false);
  return nullptr;
}

}  // namespace

void do_run_action(RunContext& run, const At& at, uint32_t attempt) {
  bool child = at.step->action_kind == plan::ActionKind::StartRun;
  StepStarted event = child ? started_outside(run, at, attempt, 0) : started(run, at, attempt);
  run.frame.emit(event);
  Value tree = at.step->params.is_null() ? Value(Value::Object{}) : at.step->params;
  auto filled = fill_template(run.names_for(at, tree.json()), tree, run.plan().text_mode);
  if (!filled.ok())
    return fail_step(run, at, step_error(refusal_code(filled.error()), filled.error().message),
                     false);
  if (!filled->value.is_object())
    return fail_step(run, at, step_error("VALIDATION_ERROR", "params must be an object"), false);
  const Value& params = filled->value;
  if (!json_fits(params, run.output_max())) return fail_too_large(run, at, "what it is given");
  if (child) return start_run(run, at, event.effect, params);
  StepOutcome outcome = act_of(at.step->action_kind)(run, at, params);
  if (!outcome.ok) return fail_step(run, at, outcome.error, outcome.retryable);
  complete_step(run, at, std::move(outcome.output));
}

}  // namespace pawl::scripts
