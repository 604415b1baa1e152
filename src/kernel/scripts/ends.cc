// How steps end, how failures spread, and how a run comes to its own end.
#include <algorithm>

#include "base/backoff.h"
#include "base/json_writer.h"
#include "kernel/finish_job.h"
#include "kernel/made_so_far.h"
#include "kernel/run_flow.h"
#include "kernel/scripts/admission.h"
#include "kernel/scripts/flow.h"

namespace pawl {
namespace {

constexpr uint32_t kCompensationRetries = 5;
constexpr int64_t kCompensationDelayMs = 1000;
constexpr int64_t kLongestDelayMs = int64_t{30} * 24 * 3600 * 1000;

BackoffStrategy strategy_of(plan::Backoff backoff) {
  switch (backoff) {
    case plan::Backoff::None:
    case plan::Backoff::Constant:
      return BackoffStrategy::Constant;
    case plan::Backoff::Linear:
      return BackoffStrategy::Linear;
    case plan::Backoff::Exponential:
      return BackoffStrategy::Exponential;
  }
  return BackoffStrategy::Constant;
}

// `retry` without a policy is tried again as the server says.
plan::RetryPolicy as_set(plan::RetryPolicy policy, const ScriptDefaults& defaults) {
  if (!policy.by_default) return policy;
  if (defaults.retry_attempts != 0) policy.max = defaults.retry_attempts - 1;
  if (defaults.retry_delay_ms >= 0) policy.delay_ms = defaults.retry_delay_ms;
  if (defaults.retry_multiplier_milli != 0)
    policy.multiplier_milli = defaults.retry_multiplier_milli;
  return policy;
}

std::string_view strategy_name(plan::OnError strategy) {
  switch (strategy) {
    case plan::OnError::Propagate:
      return "";
    case plan::OnError::Ignore:
      return "ignore";
    case plan::OnError::Fail:
      return "fail_workflow";
    case plan::OnError::Fallback:
      return "fallback_step";
    case plan::OnError::Skip:
      return "skip";
    case plan::OnError::Rollback:
      return "rollback";
  }
  return "";
}

Value error_json(const StepError& error) {
  Value::Object object;
  object.set("code", error.code);
  object.set("message", error.message);
  if (!error.step.empty()) object.set("step_id", error.step);
  return object;
}

}  // namespace

// --- telling

void ScriptFlow::note(const At& at, const std::string& type, const Value& data) {
  auto event = event_for<StepNoted>(at);
  event.type = type;
  event.data = data.json();
  frame_.emit(event);
}

void ScriptFlow::note_run(const std::string& type, const Value& data) {
  StepNoted event;
  event.run = id_;
  event.type = type;
  event.data = data.json();
  frame_.emit(event);
}

// --- steps

void ScriptFlow::complete(const At& at, std::string output) {
  if (!has_room_for(output.size())) return fail_no_room(at, output.size());
  auto event = event_for<StepEnded>(at);
  event.state = StepState::Completed;
  event.output = std::move(output);
  event.dormant = at.step->dormant;
  event.duration_ms = frame_.now_ms() - record(at).started_ms;
  frame_.emit(std::move(event));
  look(LookKind::Ended, at.path);
}

void ScriptFlow::skip_step(const At& at, const std::string& reason) {
  auto event = event_for<StepEnded>(at);
  event.state = StepState::Skipped;
  event.reason = reason;
  event.dormant = at.step->dormant;
  frame_.emit(event);
  look(LookKind::Ended, at.path);
}

void ScriptFlow::fail(const At& at, StepError error, bool retryable) {
  error = bounded(std::move(error));
  if (error.step.empty()) error.step = at.path;
  const StepRecord& now = record(at);
  for (const std::string& path : open_lists_of(at)) stop_scope(path, "step_failed");
  plan::RetryPolicy policy = as_set(at.step->retry, state_.script_defaults());
  bool undoing = script().phase == ScriptPhase::Rollback;
  if (undoing && policy.max == 0)
    policy = {kCompensationRetries, plan::Backoff::Exponential, kCompensationDelayMs, 0};
  if (!retryable || now.attempt > policy.max) return fail_for_good(at, error);
  BackoffPolicy backoff{strategy_of(policy.backoff), policy.delay_ms,
                        policy.multiplier_milli / 1000.0,
                        policy.max_delay_ms == 0 ? kLongestDelayMs : policy.max_delay_ms, false};
  auto event = event_for<StepRetrying>(at);
  event.attempt = now.attempt;
  event.attempts_max = policy.max + 1;
  event.error = error;
  event.due_ms = frame_.now_ms() + backoff_ms(backoff, now.attempt, 0);
  frame_.emit(event);
}

// What the step's own answer to its failure means where it stands.
plan::OnError ScriptFlow::strategy_for(const At& at) const {
  plan::OnError strategy = at.step->on_error;
  bool ends_run = strategy == plan::OnError::Fail || strategy == plan::OnError::Rollback;
  // How the run ends is decided before hooks and compensation: they can only fail themselves.
  if (ends_run && script().phase != ScriptPhase::Steps) return plan::OnError::Propagate;
  if (strategy != plan::OnError::Fallback) return strategy;
  const Scope& in = *scope(at.scope);
  uint32_t place = at.step->fallback;
  const StepRecord& takes_over = effective_record(in, plan(), in.records[place], place);
  bool nobody = takes_over.state == StepState::Failed || &takes_over == &in.records[at.position];
  return nobody ? plan::OnError::Propagate : strategy;
}

void ScriptFlow::fail_for_good(const At& at, const StepError& error) {
  plan::OnError strategy = strategy_for(at);
  if (strategy != plan::OnError::Propagate) {
    Value::Object data;
    data.set("strategy", std::string(strategy_name(strategy)));
    data.set("step_id", at.path);
    data.set("error", error_json(error));
    if (strategy == plan::OnError::Fallback)
      data.set("fallback", this->at(at.scope, at.step->fallback).path);
    note(at, "error_handler_invoked", data);
    if (strategy == plan::OnError::Ignore) note(at, "step_ignored", data);
  }
  auto event = event_for<StepEnded>(at);
  event.dormant = at.step->dormant;
  event.error = error;
  event.duration_ms = frame_.now_ms() - record(at).started_ms;
  event.state = strategy == plan::OnError::Ignore ? StepState::Completed
                : strategy == plan::OnError::Skip ? StepState::Skipped
                                                  : StepState::Failed;
  event.handled = strategy == plan::OnError::Ignore || strategy == plan::OnError::Fallback ||
                  strategy == plan::OnError::Skip;
  if (strategy == plan::OnError::Skip) event.reason = "on_failure";
  if (strategy == plan::OnError::Ignore) event.output = "null";
  frame_.emit(event);
  if (strategy == plan::OnError::Fail)
    return abort(ScriptStatus::Failed, error, "a step failed",
                 plan().on_failure == plan::OnError::Rollback);
  if (strategy == plan::OnError::Rollback)
    return abort(ScriptStatus::Failed, error, "a step failed", true);
  if (strategy == plan::OnError::Fallback) {
    At fallback = this->at(at.scope, at.step->fallback);
    Value::Object data;
    data.set("original_step", at.path);
    data.set("fallback_step", fallback.path);
    data.set("original_error", error_json(error));
    note(at, "step_fallback", data);
  }
  look(LookKind::Ended, at.path);
}

// --- stopping

void ScriptFlow::stop_effect(uint32_t effect) {
  if (effect == 0) return;
  state_.note_cancelled_effect(run(), effect);
  Uuid child = child_id(run(), effect);
  if (const Run* nested = state_.find_run(RunId(child))) {
    if (is_terminal(nested->state)) return;
    if (nested->script) {
      (void)cancel_script(frame_, nested->id, "the run around it no longer needs it", false);
    } else {
      (void)cancel_run(frame_, nested->id, "the run around it no longer needs it");
    }
  } else if (const Job* job = state_.find_job(JobId(child)); job && !is_terminal(job->state)) {
    cancel_job(frame_, *job, "the run around it no longer needs it");
  }
}

std::vector<std::string> ScriptFlow::open_lists_of(const At& at) const {
  std::vector<std::string> paths = script().live.with_prefix(at.path + ".");
  std::erase_if(paths, [&](const std::string& path) {
    const Scope* inner = scope(path);
    return inner == nullptr || inner->owner != at.path;
  });
  return paths;
}

void ScriptFlow::stop_step(const At& at, const std::string& reason) {
  for (const std::string& path : open_lists_of(at)) stop_scope(path, reason);
  if (is_over(record(at).state)) return;
  if (!record(at).decision.empty()) close_decision(record(at), "cancelled", "");
  uint32_t effect = record(at).effect;
  auto event = event_for<StepEnded>(at);
  event.state = StepState::Skipped;
  event.reason = reason;
  event.dormant = at.step->dormant;
  frame_.emit(event);
  stop_effect(effect);  // last: a child's end must find nobody waiting for it
}

void ScriptFlow::stop_scope(const std::string& path, const std::string& reason) {
  const Scope* in = scope(path);
  if (in == nullptr || in->closed) return;
  for (uint32_t i = 0; i < in->records.size(); ++i) {
    At here = at(path, i);
    if (here.step->dormant && in->records[i].state == StepState::Pending) continue;
    if (!is_over(in->records[i].state)) stop_step(here, reason);
  }
  ScopeClosed event;
  event.run = id_;
  event.scope = path;
  event.failed = in->failed;
  event.error = in->error;
  event.iteration = in->iteration;
  event.index = in->index;
  if (!in->closed) frame_.emit(event);
}

// What an earlier attempt of this step left behind.
void ScriptFlow::drop_scopes_of(const std::string& step) {
  StepsReset event;
  event.run = id_;
  state_.each_scope(run(), step + ".", [&](const Scope& inner) {
    event.dropped.push_back(inner.path);
    return true;
  });
  if (!event.dropped.empty()) frame_.emit(event);
}

// A list, with all inside.
void ScriptFlow::drop_scope(const std::string& path) {
  StepsReset event;
  event.run = id_;
  if (scope(path) != nullptr) event.dropped.push_back(path);
  state_.each_scope(run(), path + ".", [&](const Scope& inner) {
    event.dropped.push_back(inner.path);
    return true;
  });
  if (!event.dropped.empty()) frame_.emit(event);
}

void ScriptFlow::abort(ScriptStatus outcome, const StepError& error, const std::string& reason,
                       bool rollback) {
  std::string why = outcome == ScriptStatus::Cancelled ? "cancelled" : "run_failed";
  for (const std::string& path : script().live.copy())
    if (const Scope* in = scope(path); in != nullptr && in->owner.empty()) stop_scope(path, why);
  for (const std::string& path : script().live.copy()) stop_scope(path, why);
  looks_.clear();
  steps_over(outcome, error, reason, rollback);
}

// --- the end of the run

void ScriptFlow::steps_over(ScriptStatus outcome, const StepError& error, const std::string& reason,
                            bool rollback) {
  ScriptPhased event;
  event.run = id_;
  event.phase = ScriptPhase::Hooks;
  event.outcome = outcome;
  event.error = error;
  event.reason = reason;
  bool undo = rollback && script().phase == ScriptPhase::Steps;
  if (undo) event.phase = ScriptPhase::Rollback;
  frame_.emit(event);
  if (undo && start_rollback()) return;
  run_hook_or_finish();
}

bool ScriptFlow::start_rollback() {
  std::vector<std::pair<uint64_t, std::string>> done;
  Value::Array uncompensated;
  state_.each_scope(run(), "", [&](const Scope& in) {
    for (uint32_t i = 0; i < in.records.size(); ++i) {
      const StepRecord& record = in.records[i];
      if (record.state != StepState::Completed || record.handled) continue;
      const plan::Step& step = plan().at(in.list, i);
      std::string path = join_path(in.path, step.id);
      if (step.compensate != plan::kNoList) {
        done.emplace_back(record.done_sequence, path);
      } else if (step.type == plan::StepType::Action || step.type == plan::StepType::Job) {
        uncompensated.push_back(path);
      }
    }
    return true;
  });
  std::sort(done.rbegin(), done.rend());
  ScriptPhased event;
  event.run = id_;
  event.phase = ScriptPhase::Rollback;
  event.outcome = script().outcome;
  event.error = script().error;
  event.reason = script().reason;
  Value::Array steps;
  for (auto& [sequence, path] : done) {
    event.compensate.push_back(path);
    steps.push_back(path);
  }
  frame_.emit(event);
  Value::Object data;
  data.set("steps", std::move(steps));
  data.set("uncompensated", std::move(uncompensated));
  note_run("rollback_started", data);
  next_compensation();
  return true;
}

void ScriptFlow::next_compensation() {
  if (!script().compensate.empty()) {
    At undone;
    PAWL_CHECK(find(script().compensate.front(), undone));
    note(undone, "step_compensating", Value::Object{});
    return open_scope(&undone, join_path(undone.path, plan::kCompensateName),
                      undone.step->compensate, false, 0, "");
  }
  Value::Object data;
  Value::Array steps;
  for (const std::string& path : script().compensated) steps.push_back(path);
  data.set("compensated", std::move(steps));
  note_run("rollback_completed", data);
  StepError cause = script().error;
  StepError error = cause;
  if (script().outcome == ScriptStatus::Failed) {
    error.code = "ROLLED_BACK";
    error.message = "rolled back after: " + cause.message;
    Value::Object details;
    details.set("cause", error_json(cause));
    error.details = Value(std::move(details)).json();
  }
  steps_over(script().outcome, error, script().reason, false);
}

void ScriptFlow::compensation_closed(const std::string& path) {
  const Scope closed = *scope(path);
  At undone;
  PAWL_CHECK(find(closed.owner, undone));
  if (closed.failed) {
    Value::Object data;
    data.set("error", error_json(closed.error));
    note(undone, "step_compensation_failed", data);
    StepError error = script().error;
    Value::Object details;
    details.set("cause", error_json(error));
    error.code = "ROLLBACK_FAILED";
    error.message = "undoing step '" + closed.owner + "' failed: " + closed.error.message;
    error.step = closed.owner;
    error.details = Value(std::move(details)).json();
    return steps_over(ScriptStatus::Failed, error, script().reason, false);
  }
  note(undone, "step_compensated", Value::Object{});
  frame_.emit(event_for<StepUndone>(undone));
  next_compensation();
}

void ScriptFlow::run_hook_or_finish() {
  ScriptStatus outcome = script().outcome;
  uint32_t list = outcome == ScriptStatus::Completed ? plan().on_complete
                  : outcome == ScriptStatus::Failed  ? plan().on_error
                                                     : plan::kNoList;
  if (list == plan::kNoList) return finish();
  drop_scopes_of(outcome == ScriptStatus::Completed ? "on_complete" : "on_error");
  open_scope(nullptr, outcome == ScriptStatus::Completed ? "on_complete" : "on_error", list, false,
             0, "");
}

// What the run gives back: its outputs, or what its last steps gave. While cut_short_ says so, it
// is not all there yet.
Result<std::string> ScriptFlow::outputs() {
  if (scope("") == nullptr) return std::string("null");
  return plan().outputs.empty() ? last_outputs() : own_outputs();
}

Result<std::string> ScriptFlow::own_outputs() {
  MadeSoFar made(made_of(""));
  for (size_t i = made.size(); i < plan().outputs.size(); ++i) {
    if (full()) {
      keep_made("", made.take_added());
      return std::string();
    }
    const plan::Output& output = plan().outputs[i];
    std::string text = output.value.is_string() ? output.value.as_string() : output.value.json();
    ScriptScope names(state_, run(), "", text, frame_.now_ms());
    names.metered(frame_.meter());
    PAWL_TRY(auto filled, fill_template(names, output.value, plan().text_mode));
    if (!json_fits(filled.value, output_max() - std::min(made.bytes(), output_max())))
      return Error{ErrorCode::TooLarge, "they are larger than " + std::to_string(output_max()) +
                                            " bytes, the limit of an output"};
    made.add(filled.value.json());
  }
  std::string text = "{";
  text.reserve(made.bytes() + 64 * made.size());
  Value::Object seen;  // of two of one name the later counts, in the place of the first
  for (size_t i = 0; i < made.size(); ++i)
    seen.set(plan().outputs[i].name, static_cast<int64_t>(i));
  for (const Value::Member& member : seen) {
    if (text.size() > 1) text += ',';
    json::append_quoted(text, member.key);
    text += ':';
    text += made[static_cast<size_t>(member.value.as_int())];
  }
  text += '}';
  return text;
}

Result<std::string> ScriptFlow::last_outputs() const {
  const Scope* root = scope("");
  std::string text = "{";
  for (uint32_t i = 0; i < root->records.size(); ++i) {
    const plan::Step& step = plan().at(root->list, i);
    if (!step.dependents.empty() || step.dormant) continue;
    const StepRecord& record = effective_record(*root, plan(), root->records[i], i);
    if (record.state != StepState::Completed) continue;
    if (text.size() + record.output.size() > output_max())
      return Error{ErrorCode::TooLarge, "what its last steps gave is together larger than " +
                                            std::to_string(output_max()) +
                                            " bytes, the limit of an output"};
    if (text.size() > 1) text += ',';
    make_room(text, step.id.size() + record.output.size() + 8);
    json::append_quoted(text, step.id);
    text += ':';
    text += record.output.empty() ? "null" : record.output.str();
  }
  text += '}';
  return text;
}

void ScriptFlow::finish() {
  Result<std::string> output = std::string();
  if (script().outcome == ScriptStatus::Completed) output = outputs();
  if (cut_short_) return;  // looked at again
  if (script().status == ScriptStatus::Pending) leave_gate(frame_, id_);
  ScriptMoved event = moved(script().outcome);
  event.error = script().error;
  event.reason = script().reason;
  if (event.to == ScriptStatus::Completed) {
    bool too_large = !output.ok() && output.error().code == ErrorCode::TooLarge;
    if (output.ok() && !has_room_for(output->size())) {
      event.to = ScriptStatus::Failed;
      event.error = step_error("RUN_TOO_LARGE", room_told(output->size()));
    } else if (output.ok()) {
      event.output = std::move(*output);
    } else {
      event.to = ScriptStatus::Failed;
      event.error = step_error(too_large ? "NON_RETRYABLE" : "INTERPOLATION_ERROR",
                               "its outputs cannot be evaluated: " + output.error().message);
    }
  }
  frame_.emit(std::move(event));
  looks_.clear();
  JobParent parent = run().parent;
  if (parent.run.is_nil() || end_is_seen_) return;
  pawl::effect_done(frame_, parent.run, parent.node, outcome_of_script(script()));
}

}  // namespace pawl
