// Signals to runs of definitions: decisions, data, cancel, retry, skip, and names of one's own.
#include "kernel/run_values.h"
#include "kernel/scripts/flow.h"

namespace pawl {
namespace {

constexpr size_t kSignalsKeptMax = 1'000;
constexpr uint64_t kSignalBytesKeptMax = 64u << 20;

}  // namespace

Status signal_script(Frame& frame, const RunId& id, const ScriptSignal& signal) {
  const Run* run = frame.state().find_run(id);
  if (run == nullptr || !run->script)
    return Error{ErrorCode::NotFound, "Run " + id.text() + " not found"};
  bool reopens = signal.type == "retry" || (signal.type == "skip" && !signal.step.empty());
  if (is_terminal(run->state) && !(reopens && run->state == RunState::Failed))
    return Error{ErrorCode::Conflict, "Run " + shown_id(*run) + " is " +
                                          std::string(script_status_name(run->script->status)) +
                                          " and takes no signals"};
  if (is_terminal(run->state) && !run->parent.run.is_nil())
    return part_of_another(frame.state(), "Run", *run);
  return ScriptFlow(frame, id).signal(signal);
}

Status resolve_decision(Frame& frame, const std::string& id, const DecisionAnswer& answer) {
  const Doc* doc = frame.state().find_doc(DocKind::Decision, id);
  StoredDecision decision;
  if (doc == nullptr || !codec::decode(doc->value, decision))
    return Error{ErrorCode::NotFound, "decision " + id + " not found"};
  if (decision.status != "pending")
    return Error{ErrorCode::Conflict, "decision " + id + " is " + decision.status + " already"};
  const Run* run = frame.state().find_run(decision.run);
  if (run == nullptr || !run->script)
    return Error{ErrorCode::NotFound, "the run of decision " + id + " is gone"};
  size_t most = frame.state().script_defaults().output_bytes_max;
  if (answer.data.size() + answer.reasoning.size() > most)
    return Error{ErrorCode::TooLarge,
                 "an answer must be at most " + std::to_string(most) + " bytes"};
  PAWL_TRY_DO(judge_text("an answer", answer.data, most));
  return ScriptFlow(frame, decision.run).resolve(decision.step, answer);
}

Status ScriptFlow::signal(const ScriptSignal& signal) {
  SignalReceived event;
  event.run = id_;
  event.type = signal.type;
  event.step = signal.step;
  event.payload = signal.payload;
  event.agent_id = signal.agent_id;
  event.reasoning = signal.reasoning;
  PAWL_TRY_DO(judge_text("a signal's payload", signal.payload, output_max()));
  if (!signal.payload.empty() && !has_room_for(signal.payload.size()))
    return Error{ErrorCode::TooLarge, "RUN_TOO_LARGE: " + room_told(signal.payload.size())};
  if (signal.type == "decision") return decide_by_signal(signal, event);
  if (signal.type == "cancel" && signal.step.empty()) {
    frame_.emit(event);
    cancel(signal.reasoning.empty() ? "cancelled by a signal" : signal.reasoning, false);
    return ok_status();
  }
  if (signal.type == "cancel" || signal.type == "skip") {
    At at;
    std::string step = full_path(signal.step);
    if (signal.step.empty() || !find(step, at))
      return Error{ErrorCode::InvalidContent,
                   "signal '" + signal.type + "' needs the step_id of a step of this run",
                   {{"step_id", "must name a step of this run", "unknown_step"}}};
    StepState state = record(at).state;
    if (signal.type == "cancel" && record(at).decision.empty())
      return Error{ErrorCode::Conflict, "step '" + step + "' does not wait for a decision"};
    if (is_terminal(run().state)) return skip_and_retry(at, event);
    if (is_over(state) || state == StepState::Pending)
      return Error{ErrorCode::Conflict, "step '" + step + "' is " +
                                            std::string(step_state_name(state)) +
                                            " and cannot be skipped"};
    frame_.emit(event);
    released("signal");
    stop_step(at, signal.type == "cancel" ? "decision_cancelled" : "skipped_by_signal");
    look(LookKind::Ended, at.path);
    drain();
    return ok_status();
  }
  if (signal.type == "retry") return retry_by_signal(signal, event);
  if (signal.type == "data") {
    auto payload = Value::parse(signal.payload.empty() ? "{}" : signal.payload);
    if (!payload.ok() || !payload->is_object())
      return Error{ErrorCode::InvalidContent,
                   "a data signal needs an object as its payload",
                   {{"payload", "must be an object", "type"}}};
    if (script().variables.size() + payload->as_object().size() > kVariablesMax)
      return Error{ErrorCode::TooLarge,
                   "a run holds " + std::to_string(kVariablesMax) + " variables at most"};
    deliver(signal, event);
    for (const Value::Member& member : payload->as_object())
      frame_.emit(VariableSet{id_, member.key, member.value.json()});
    drain();
    return ok_status();
  }
  if (script().signals.size() >= kSignalsKeptMax)
    return Error{ErrorCode::TooLarge,
                 "the run keeps " + std::to_string(kSignalsKeptMax) + " signals already"};
  uint64_t kept = signal.payload.size();
  for (const KeptSignal& each : script().signals) kept += held_by(each);
  if (kept > kSignalBytesKeptMax)
    return Error{ErrorCode::TooLarge, "the run keeps signals of " +
                                          std::to_string(kept - signal.payload.size()) +
                                          " bytes already; at most " +
                                          std::to_string(kSignalBytesKeptMax) + " are kept"};
  deliver(signal, event);
  drain();
  return ok_status();
}

// A step that the sender named by its own id may stand in a list.
std::string ScriptFlow::full_path(const std::string& step) const {
  At at;
  if (step.empty() || find(step, at)) return step;
  std::string found;
  for (const std::string& path : script().live) {
    std::string candidate = join_path(path, step);
    if (!find(candidate, at) || record(at).state == StepState::Pending) continue;
    if (!found.empty()) return step;  // more than one: the sender must say which
    found = candidate;
  }
  return found.empty() ? step : found;
}

// To the first wait that fits; kept for a later one if there is none.
void ScriptFlow::deliver(const ScriptSignal& signal, SignalReceived& event) {
  std::string step = full_path(signal.step);
  for (const std::string& path : script().live.copy()) {
    const Scope* in = scope(path);
    for (uint32_t i = 0; i < in->records.size(); ++i) {
      const StepRecord& now = in->records[i];
      if (now.state != StepState::Suspended || now.signal.empty()) continue;
      At here = at(path, i);
      bool fits = step.empty() ? now.signal == signal.type : here.path == step;
      if (!fits) continue;
      frame_.emit(event);
      return signal_arrived(here, signal.type, signal.payload);
    }
  }
  bool waited_for = signal.type != "data";
  for (const plan::Step& each : plan().steps)
    waited_for = waited_for || (each.type == plan::StepType::Wait && each.signal == signal.type);
  event.kept = waited_for;
  frame_.emit(event);
}

Status ScriptFlow::decide_by_signal(const ScriptSignal& signal, const SignalReceived& event) {
  std::string step = full_path(signal.step);
  if (step.empty()) {
    for (const std::string& path : script().live)
      for (uint32_t i = 0; i < scope(path)->records.size(); ++i) {
        if (scope(path)->records[i].decision.empty()) continue;
        if (!step.empty())
          return Error{ErrorCode::InvalidContent,
                       "several decisions are pending: name one with step_id",
                       {{"step_id", "is required: several decisions are pending", "required"}}};
        step = at(path, i).path;
      }
    if (step.empty()) return Error{ErrorCode::Conflict, "no decision is pending"};
  }
  auto payload = Value::parse(signal.payload.empty() ? "{}" : signal.payload);
  const Value* choice = payload.ok() ? payload->find("choice") : nullptr;
  if (choice == nullptr || !choice->is_string())
    return Error{ErrorCode::InvalidContent,
                 "a decision signal needs payload.choice",
                 {{"payload.choice", "is required", "required"}}};
  DecisionAnswer answer;
  answer.choice = choice->as_string();
  if (const Value* data = payload->find("data")) answer.data = data->json();
  answer.reasoning = signal.reasoning;
  if (const Value* reasoning = payload->find("reasoning"); reasoning && reasoning->is_string())
    answer.reasoning = reasoning->as_string();
  answer.resolved_by = signal.agent_id;
  PAWL_TRY_DO(may_resolve(step, answer));
  frame_.emit(event);
  return resolve(step, answer);
}

Status ScriptFlow::retry_by_signal(const ScriptSignal& signal, const SignalReceived& event) {
  std::string step = full_path(signal.step);
  if (is_terminal(run().state)) {
    PAWL_TRY_DO(retry(step, "", true));
    frame_.emit(event);
    PAWL_TRY_DO(retry(step, "", false));
    return ok_status();
  }
  At at;
  if (step.empty() || !find(step, at) || record(at).state != StepState::Retrying)
    return Error{ErrorCode::Conflict,
                 "signal 'retry' needs the step_id of a step that waits for its "
                 "next attempt, or a run that has failed"};
  frame_.emit(event);
  begin_attempt(at, record(at).attempt + 1);
  drain();
  return ok_status();
}

}  // namespace pawl
