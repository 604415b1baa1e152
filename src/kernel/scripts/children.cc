// Steps that the engine does itself: runs within runs, and the actions that change or tell
// something about the run.
#include "kernel/computations.h"
#include "kernel/scripts/flow.h"
#include "kernel/secret_source.h"

namespace pawl {
namespace {

std::string text_of(const Value* value) {
  if (value == nullptr || value->is_null()) return "";
  return value->is_string() ? value->as_string() : value->json();
}

const Value* first_of(const Value& params, std::initializer_list<std::string_view> names) {
  for (std::string_view name : names)
    if (const Value* found = params.find(name)) return found;
  return nullptr;
}

StepOutcome done(Value output) {
  StepOutcome outcome;
  outcome.ok = true;
  outcome.output = output.json();
  return outcome;
}

StepOutcome said(std::string_view key) {
  Value::Object output;
  output.set(key, true);
  return done(std::move(output));
}

// Parameters that are not named by the action are data.
Value data_of(const Value& params, std::initializer_list<std::string_view> named) {
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

}  // namespace

// What the end of a run means for the step whose place it fills.
StepOutcome outcome_of_script(const ScriptRun& script) {
  StepOutcome outcome;
  outcome.ok = script.status == ScriptStatus::Completed;
  outcome.output = script.output;
  outcome.error = script.error;
  if (!outcome.ok && outcome.error.empty())
    outcome.error = step_error("CANCELLED", "the subworkflow was cancelled");
  outcome.retryable = !outcome.ok;
  return outcome;
}

bool ScriptFlow::is_engine_action(std::string_view name) const {
  return name == "workflow.run" || name == "workflow.emit" || name == "workflow.context" ||
         name == "workflow.fail" || name == "workflow.log" || name == "workflow.notify";
}

void ScriptFlow::begin_subworkflow(const At& at, uint32_t effect) {
  const plan::Step& step = *at.step;
  StartScript command;
  command.id = RunId(child_id(run(), effect));
  command.parent = {id_, effect};
  command.tenant = run().tenant;
  command.agent_id = script().agent_id;
  Value tree = Value::Object{
      {"definition", step.definition}, {"version", step.version}, {"inputs", step.params}};
  auto filled = fill_template(scope_for(at, tree.json()), tree, plan().text_mode);
  if (!filled.ok())
    return fail(at, step_error(refusal_code(filled.error()), filled.error().message), false);
  if (!json_fits(filled->value, output_max())) return fail_too_large(at, "what its run is given");
  command.definition = text_of(filled->value.find("definition"));
  command.version = text_of(filled->value.find("version"));
  if (const Value* inputs = filled->value.find("inputs"); inputs && inputs->is_object())
    command.inputs = inputs->json();
  start_child(at, std::move(command));
}

// A child that is over at once is answered for here: reported from within, the stack would grow as
// deep as a loop is long.
void ScriptFlow::start_child(const At& at, StartScript command) {
  command.end_is_seen = true;
  auto begun = start_script(frame_, command);
  if (!begun.ok()) {
    ErrorCode code = begun.error().code;
    bool full = code == ErrorCode::RateLimited;  // later there may be room
    return fail(at,
                step_error(full                          ? "LIMIT_REACHED"
                           : code == ErrorCode::NotFound ? "NOT_FOUND"
                                                         : "VALIDATION_ERROR",
                           begun.error().message),
                full);
  }
  const Run* child = state_.find_run(*begun);
  if (child == nullptr) return;
  if (child->script->status == ScriptStatus::Suspended) return note_child(at, true);
  if (!is_terminal(child->state)) return;
  StepOutcome outcome = outcome_of_script(*child->script);
  if (outcome.ok) return complete(at, std::move(outcome.output));
  fail(at, outcome.error, outcome.retryable);
}

// Nothing to say of one that was suspended before such things were noted.
void ScriptFlow::note_child(const At& at, bool suspended) {
  if ((record(at).state == StepState::Suspended) == suspended) return;
  auto event = event_for<ChildMoved>(at);
  event.child = RunId(child_id(run(), record(at).effect));
  event.suspended = suspended;
  frame_.emit(event);
}

void ScriptFlow::child_moved(uint32_t effect, bool suspended) {
  const std::string* path = script().step_of_effect(effect);
  At at;
  if (path == nullptr || !find(*path, at) || record(at).effect != effect) return;
  note_child(at, suspended);
  drain();
}

void child_moved(Frame& frame, const JobParent& place, bool suspended) {
  const Run* around = frame.state().find_run(place.run);
  if (around == nullptr || !around->script || is_terminal(around->state)) return;
  ScriptFlow(frame, place.run).child_moved(place.node, suspended);
}

void ScriptFlow::begin_action(const At& at, uint32_t attempt) {
  if (is_engine_action(at.step->action)) return run_engine_action(at, attempt);
  StepStarted event = started(at, attempt, true);
  frame_.emit(event);
  if (auto outcome = computed(at, event.effect)) effect_over(at, std::move(*outcome));
}

// An action that needs nothing outside is done here, unless it is dear. One that is given secrets
// is not: only who prepares effects may open them.
std::optional<StepOutcome> ScriptFlow::computed(const At& at, uint32_t effect) {
  const Computations* computations = state_.script_defaults().computations;
  if (computations == nullptr || frame_.meter().spent()) return std::nullopt;
  if (!computations->knows(at.step->action)) return std::nullopt;
  if (at.step->params.json().find("secrets") != std::string::npos) return std::nullopt;
  auto request =
      effect_request(state_, {id_, effect}, NoSecrets(), frame_.now_ms(), &frame_.meter());
  if (!request.ok())
    return failed_outcome(refusal_code(request.error()), request.error().message, false);
  if (request->kind != EffectKind::Action) return std::nullopt;
  return computations->compute(std::move(*request), frame_.meter());
}

void ScriptFlow::run_engine_action(const At& at, uint32_t attempt) {
  bool child = at.step->action == "workflow.run";
  StepStarted event = started(at, attempt, child);
  frame_.emit(event);
  Value tree = at.step->params.is_null() ? Value(Value::Object{}) : at.step->params;
  auto filled = fill_template(scope_for(at, tree.json()), tree, plan().text_mode);
  if (!filled.ok())
    return fail(at, step_error(refusal_code(filled.error()), filled.error().message), false);
  if (!filled->value.is_object())
    return fail(at, step_error("VALIDATION_ERROR", "params must be an object"), false);
  const Value& params = filled->value;
  if (!json_fits(params, output_max())) return fail_too_large(at, "what it is given");
  if (child) {
    StartScript command;
    command.id = RunId(child_id(run(), event.effect));
    command.parent = {id_, event.effect};
    command.tenant = run().tenant;
    command.agent_id = script().agent_id;
    command.definition = text_of(first_of(params, {"template_name", "definition", "name"}));
    command.version = text_of(params.find("version"));
    if (const Value* inputs = first_of(params, {"params", "inputs"}); inputs && inputs->is_object())
      command.inputs = inputs->json();
    return start_child(at, std::move(command));
  }
  StepOutcome outcome = engine_action(at, params);
  if (!outcome.ok) return fail(at, outcome.error, outcome.retryable);
  complete(at, std::move(outcome.output));
}

StepOutcome ScriptFlow::engine_action(const At& at, const Value& params) {
  const std::string& action = at.step->action;
  if (action == "workflow.fail") {
    std::string reason = text_of(first_of(params, {"reason", "message"}));
    return failed_outcome("NON_RETRYABLE", reason.empty() ? "workflow.fail" : reason, false);
  }
  if (action == "workflow.context") return change_context(params);
  if (action == "workflow.emit") {
    std::string type = text_of(first_of(params, {"event_type", "event", "signal"}));
    if (type.empty())
      return failed_outcome("VALIDATION_ERROR", "workflow.emit needs event_type", false);
    Value::Object data;
    data.set("event_type", type);
    const Value* payload = first_of(params, {"payload", "data"});
    data.set("payload", payload == nullptr ? Value() : *payload);
    note(at, "workflow_event", data);
    return said("emitted");
  }
  std::string message = text_of(params.find("message"));
  if (message.empty()) return failed_outcome("VALIDATION_ERROR", action + " needs message", false);
  Value::Object data;
  data.set("message", message);
  bool log = action == "workflow.log";
  if (log) {
    std::string level = text_of(params.find("level"));
    data.set("level", level.empty() ? "info" : level);
  }
  data.set("data", data_of(params, {"message", "level"}));
  note(at, log ? "workflow_log" : "workflow_notification", data);
  return said(log ? "logged" : "notified");
}

StepOutcome ScriptFlow::change_context(const Value& params) {
  std::string what = text_of(params.find("action"));
  if (what == "read" || what.empty()) {
    Value::Object output;
    output.set("workflow_id", id_.text());
    uint64_t bytes = 0;
    for (const Variable& variable : script().variables) bytes += held_by(variable) + 4;
    if (bytes > output_max())
      return failed_outcome("NON_RETRYABLE",
                            "the run's variables are together larger than " +
                                std::to_string(output_max()) + " bytes, the limit of an output",
                            false);
    frame_.meter().charge_parsed(bytes);
    Value::Object variables;
    for (const Variable& variable : script().variables) {
      auto value = Value::parse(variable.value);
      variables.set(variable.key, value.ok() ? std::move(value).value() : Value());
    }
    output.set("data", std::move(variables));
    output.set("agent_id", script().agent_id);
    return done(std::move(output));
  }
  if (what != "update")
    return failed_outcome("VALIDATION_ERROR", "action must be read or update", false);
  const Value* data = params.find("data");
  if (data != nullptr && data->is_object() &&
      script().variables.size() + data->as_object().size() > kVariablesMax)
    return failed_outcome("VALIDATION_ERROR",
                          "a run holds " + std::to_string(kVariablesMax) + " variables at most",
                          false);
  std::string whole = params.json();
  if (!has_room_for(whole.size()))
    return failed_outcome("RUN_TOO_LARGE", room_told(whole.size()), false);
  if (data != nullptr && data->is_object())
    for (const Value::Member& member : data->as_object())
      frame_.emit(VariableSet{id_, member.key, member.value.json()});
  for (std::string_view key : {"agent_notes", "intent"})
    if (const Value* value = params.find(key))
      frame_.emit(VariableSet{id_, std::string(key), value->json()});
  Value::Object output;
  output.set("updated", true);
  output.set("workflow_id", id_.text());
  return done(std::move(output));
}

}  // namespace pawl
