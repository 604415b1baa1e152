// Signals to runs of definitions: decisions, data, cancel, retry, skip, and custom names.
#include "kernel/compositions/run_values.h"
#include "kernel/run.h"
#include "kernel/run_commands.h"
#include "kernel/scripts/checks.h"
#include "kernel/scripts/context.h"
#include "kernel/scripts/decision_step.h"
#include "kernel/scripts/retry.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/step_end.h"
#include "kernel/scripts/step_kind.h"
#include "kernel/scripts/step_names.h"
#include "kernel/scripts/stored_decision.h"
#include "kernel/scripts/suspension.h"
#include "kernel/scripts/wait_step.h"
#include "kernel/settings/doc.h"
#include "kernel/state.h"
#include "plan/script.h"

namespace pawl::scripts {
namespace {

constexpr size_t kSignalsKeptMax = 1'000;
constexpr uint64_t kSignalBytesKeptMax = 64u << 20;

// A step named by its short id may be in an inner list.
std::string full_path(const RunContext& run, const std::string& step) {
  At at;
  if (step.empty() || run.find(step, at)) return step;
  std::string found;
  for (const std::string& path : run.script().live) {
    std::string candidate = join_path(path, step);
    if (!run.find(candidate, at) || run.record(at).state == StepState::Pending) continue;
    if (!found.empty()) return step;  // more than one: the sender must say which
    found = candidate;
  }
  return found.empty() ? step : found;
}

// Delivers to the first matching wait; kept for a later one if there is none.
void deliver_signal(RunContext& run, const ScriptSignal& signal, SignalReceived& event) {
  std::string step = full_path(run, signal.step);
  for (const std::string& path : run.script().live.copy()) {
    const Scope* in = run.scope(path);
    for (uint32_t i = 0; i < in->records.size(); ++i) {
      const StepRecord& now = in->records[i];
      if (now.state != StepState::Suspended || now.signal.empty()) continue;
      At here = run.at(path, i);
      bool fits = step.empty() ? now.signal == signal.type : here.path == step;
      if (!fits) continue;
      run.frame.emit(event);
      return signal_arrived(run, here, signal.type, signal.payload);
    }
  }
  bool waited_for = signal.type != "data";
  for (const plan::Step& each : run.plan().steps)
    waited_for = waited_for || (each.type == plan::StepType::Wait && each.signal == signal.type);
  event.kept = waited_for;
  run.frame.emit(event);
}

Status decide_by_signal(RunContext& run, const ScriptSignal& signal, const SignalReceived& event) {
  std::string step = full_path(run, signal.step);
  if (step.empty()) {
    for (const std::string& path : run.script().live)
      for (uint32_t i = 0; i < run.scope(path)->records.size(); ++i) {
        if (run.scope(path)->records[i].decision.empty()) continue;
        if (!step.empty())
          return Error{ErrorCode::InvalidContent,
                       "several decisions are pending: name one with step_id",
                       {{"step_id", "is required: several decisions are pending", "required"}}};
        step = run.at(path, i).path;
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
  PAWL_TRY_DO(check_answer(run, step, answer));
  run.frame.emit(event);
  return resolve(run, step, answer);
}

Status retry_by_signal(RunContext& run, const ScriptSignal& signal, const SignalReceived& event) {
  std::string step = full_path(run, signal.step);
  if (is_terminal(run.entity().state)) {
    PAWL_TRY_DO(retry(run, step, "", true));
    run.frame.emit(event);
    PAWL_TRY_DO(retry(run, step, "", false));
    return ok_status();
  }
  At at;
  if (step.empty() || !run.find(step, at) || run.record(at).state != StepState::Retrying)
    return Error{ErrorCode::Conflict,
                 "signal 'retry' needs the step_id of a step that waits for its "
                 "next attempt, or a run that has failed"};
  run.frame.emit(event);
  kind_of(*at.step).activate(run, at, run.record(at).attempt + 1);
  drain(run);
  return ok_status();
}

Status take_signal(RunContext& run, const ScriptSignal& signal) {
  SignalReceived event;
  event.run = run.id;
  event.type = signal.type;
  event.step = signal.step;
  event.payload = signal.payload;
  event.agent_id = signal.agent_id;
  event.reasoning = signal.reasoning;
  PAWL_TRY_DO(judge_text("a signal's payload", signal.payload, run.output_max()));
  if (!signal.payload.empty() && !run.has_room_for(signal.payload.size()))
    return Error{ErrorCode::TooLarge, "RUN_TOO_LARGE: " + run.room_told(signal.payload.size())};
  if (signal.type == "decision") return decide_by_signal(run, signal, event);
  if (signal.type == "cancel" && signal.step.empty()) {
    run.frame.emit(event);
    return cancel_script(run.frame, run.id,
                         signal.reasoning.empty() ? "cancelled by a signal" : signal.reasoning,
                         false);
  }
  if (signal.type == "cancel" || signal.type == "skip") {
    At at;
    std::string step = full_path(run, signal.step);
    if (signal.step.empty() || !run.find(step, at))
      return Error{ErrorCode::InvalidContent,
                   "signal '" + signal.type + "' needs the step_id of a step of this run",
                   {{"step_id", "must name a step of this run", "unknown_step"}}};
    StepState state = run.record(at).state;
    if (signal.type == "cancel" && run.record(at).decision.empty())
      return Error{ErrorCode::Conflict, "step '" + step + "' does not wait for a decision"};
    if (is_terminal(run.entity().state)) return skip_and_retry(run, at, event);
    if (is_over(state) || state == StepState::Pending)
      return Error{ErrorCode::Conflict, "step '" + step + "' is " +
                                            std::string(step_state_name(state)) +
                                            " and cannot be skipped"};
    run.frame.emit(event);
    note_release(run, "signal");
    stop_step(run, at, signal.type == "cancel" ? "decision_cancelled" : "skipped_by_signal");
    run.schedule_check(CheckKind::StepEnded, at.path);
    drain(run);
    return ok_status();
  }
  if (signal.type == "retry") return retry_by_signal(run, signal, event);
  if (signal.type == "data") {
    auto payload = Value::parse(signal.payload.empty() ? "{}" : signal.payload);
    if (!payload.ok() || !payload->is_object())
      return Error{ErrorCode::InvalidContent,
                   "a data signal needs an object as its payload",
                   {{"payload", "must be an object", "type"}}};
    if (run.script().variables.size() + payload->as_object().size() > kVariablesMax)
      return Error{ErrorCode::TooLarge,
                   "a run holds " + std::to_string(kVariablesMax) + " variables at most"};
    deliver_signal(run, signal, event);
    for (const Value::Member& member : payload->as_object())
      run.frame.emit(VariableSet{run.id, member.key, member.value.json()});
    drain(run);
    return ok_status();
  }
  if (run.script().signals.size() >= kSignalsKeptMax)
    return Error{ErrorCode::TooLarge,
                 "the run keeps " + std::to_string(kSignalsKeptMax) + " signals already"};
  uint64_t kept = signal.payload.size();
  for (const KeptSignal& each : run.script().signals) kept += held_by(each);
  if (kept > kSignalBytesKeptMax)
    return Error{ErrorCode::TooLarge, "the run keeps signals of " +
                                          std::to_string(kept - signal.payload.size()) +
                                          " bytes already; at most " +
                                          std::to_string(kSignalBytesKeptMax) + " are kept"};
  deliver_signal(run, signal, event);
  drain(run);
  return ok_status();
}

}  // namespace
}  // namespace pawl::scripts

namespace pawl {

Status signal_script(Frame& frame, const RunId& id, const ScriptSignal& signal) {
  const Run* run = find_script(frame.state(), id);
  if (run == nullptr) return Error{ErrorCode::NotFound, "Run " + id.text() + " not found"};
  bool reopens = signal.type == "retry" || (signal.type == "skip" && !signal.step.empty());
  if (is_terminal(run->state) && !(reopens && run->state == RunState::Failed))
    return Error{ErrorCode::Conflict, "Run " + shown_id(*run) + " is " +
                                          std::string(script_status_name(run->script->status)) +
                                          " and takes no signals"};
  if (is_terminal(run->state) && !run->parent.run.is_nil())
    return part_of_another(frame.state(), "Run", *run);
  scripts::RunContext context(frame, id);
  return scripts::take_signal(context, signal);
}

Status resolve_decision(Frame& frame, const std::string& id, const DecisionAnswer& answer) {
  const Doc* doc = frame.state().find_doc(DocKind::Decision, id);
  StoredDecision decision;
  if (doc == nullptr || !codec::decode(doc->value, decision))
    return Error{ErrorCode::NotFound, "decision " + id + " not found"};
  if (decision.status != "pending")
    return Error{ErrorCode::Conflict, "decision " + id + " is " + decision.status + " already"};
  const Run* run = find_script(frame.state(), decision.run);
  if (run == nullptr) return Error{ErrorCode::NotFound, "the run of decision " + id + " is gone"};
  size_t most = frame.state().script_defaults().output_bytes_max;
  if (answer.data.size() + answer.reasoning.size() > most)
    return Error{ErrorCode::TooLarge,
                 "an answer must be at most " + std::to_string(most) + " bytes"};
  PAWL_TRY_DO(scripts::judge_text("an answer", answer.data, most));
  scripts::RunContext context(frame, decision.run);
  return scripts::resolve(context, decision.step, answer);
}

}  // namespace pawl
