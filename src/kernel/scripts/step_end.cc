#include "kernel/scripts/step_end.h"

#include <algorithm>

#include "base/backoff.h"
#include "kernel/scripts/lists.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/run_end.h"
#include "kernel/scripts/step_kind.h"
#include "kernel/scripts/step_names.h"
#include "kernel/state.h"
#include "plan/choices.h"
#include "plan/script.h"

namespace pawl::scripts {
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

// `retry` without a policy uses the server's settings.
plan::RetryPolicy as_set(plan::RetryPolicy policy, const ScriptDefaults& defaults) {
  if (!policy.by_default) return policy;
  if (defaults.retry_attempts != 0) policy.max = defaults.retry_attempts - 1;
  if (defaults.retry_delay_ms >= 0) policy.delay_ms = defaults.retry_delay_ms;
  if (defaults.retry_multiplier_milli != 0)
    policy.multiplier_milli = defaults.retry_multiplier_milli;
  return policy;
}

// The effective on_error of a step at its place.
plan::OnError failure_policy(const RunContext& run, const At& at) {
  plan::OnError strategy = at.step->on_error;
  bool ends_run = strategy == plan::OnError::Fail || strategy == plan::OnError::Rollback;
  // The outcome is decided before hooks and compensation: they cannot change it.
  if (ends_run && run.script().phase != ScriptPhase::Steps) return plan::OnError::Propagate;
  if (strategy != plan::OnError::Fallback) return strategy;
  const Scope& in = *run.scope(at.scope);
  uint32_t place = at.step->fallback;
  const StepRecord& takes_over = effective_record(in, run.plan(), in.records[place], place);
  bool nobody = takes_over.state == StepState::Failed || &takes_over == &in.records[at.position];
  return nobody ? plan::OnError::Propagate : strategy;
}

// The attempts are used up: applies on_error to the list and the run.
void apply_failure_policy(RunContext& run, const At& at, const StepError& error) {
  plan::OnError strategy = failure_policy(run, at);
  if (strategy != plan::OnError::Propagate) {
    Value::Object data;
    data.set("strategy", std::string(name_of(plan::kStrategyNames, strategy)));
    data.set("step_id", at.path);
    data.set("error", error_json(error));
    if (strategy == plan::OnError::Fallback)
      data.set("fallback", run.at(at.scope, at.step->fallback).path);
    run.note(at, "error_handler_invoked", data);
    if (strategy == plan::OnError::Ignore) run.note(at, "step_ignored", data);
  }
  auto event = run.event_for<StepEnded>(at);
  event.dormant = at.step->dormant;
  event.error = error;
  event.duration_ms = run.frame.now_ms() - run.record(at).started_ms;
  event.state = strategy == plan::OnError::Ignore ? StepState::Completed
                : strategy == plan::OnError::Skip ? StepState::Skipped
                                                  : StepState::Failed;
  event.handled = strategy == plan::OnError::Ignore || strategy == plan::OnError::Fallback ||
                  strategy == plan::OnError::Skip;
  if (strategy == plan::OnError::Skip) event.reason = "on_failure";
  if (strategy == plan::OnError::Ignore) event.output = "null";
  run.frame.emit(event);
  if (strategy == plan::OnError::Fail)
    return abort_run(run, ScriptStatus::Failed, error, "a step failed",
                     run.plan().on_failure == plan::OnError::Rollback);
  if (strategy == plan::OnError::Rollback)
    return abort_run(run, ScriptStatus::Failed, error, "a step failed", true);
  if (strategy == plan::OnError::Fallback) {
    At fallback = run.at(at.scope, at.step->fallback);
    Value::Object data;
    data.set("original_step", at.path);
    data.set("fallback_step", fallback.path);
    data.set("original_error", error_json(error));
    run.note(at, "step_fallback", data);
  }
  run.schedule_check(CheckKind::StepEnded, at.path);
}

std::vector<std::string> open_lists_of(const RunContext& run, const At& at) {
  std::vector<std::string> paths = run.script().live.with_prefix(at.path + ".");
  std::erase_if(paths, [&](const std::string& path) {
    const Scope* inner = run.scope(path);
    return inner == nullptr || inner->owner != at.path;
  });
  return paths;
}

// Drops every list below the path, in addition to those in the event.
void drop_lists_below(RunContext& run, const std::string& path, StepsReset event) {
  event.run = run.id;
  run.state.each_scope(run.entity(), path + ".", [&](const Scope& inner) {
    event.dropped.push_back(inner.path);
    return true;
  });
  if (!event.dropped.empty()) run.frame.emit(event);
}

}  // namespace

void complete_step(RunContext& run, const At& at, std::string output) {
  if (!run.has_room_for(output.size())) return fail_no_room(run, at, output.size());
  auto event = run.event_for<StepEnded>(at);
  event.state = StepState::Completed;
  event.output = std::move(output);
  event.dormant = at.step->dormant;
  event.duration_ms = run.frame.now_ms() - run.record(at).started_ms;
  run.frame.emit(std::move(event));
  run.schedule_check(CheckKind::StepEnded, at.path);
}

void emit_skipped(RunContext& run, const At& at, const std::string& reason) {
  auto event = run.event_for<StepEnded>(at);
  event.state = StepState::Skipped;
  event.reason = reason;
  event.dormant = at.step->dormant;
  run.frame.emit(event);
}

void skip_step(RunContext& run, const At& at, const std::string& reason) {
  emit_skipped(run, at, reason);
  run.schedule_check(CheckKind::StepEnded, at.path);
}

void fail_step(RunContext& run, const At& at, StepError error, bool retryable) {
  error = run.bounded(std::move(error));
  if (error.step.empty()) error.step = at.path;
  const StepRecord& now = run.record(at);
  for (const std::string& path : open_lists_of(run, at)) stop_list(run, path, "step_failed");
  plan::RetryPolicy policy = as_set(at.step->retry, run.state.script_defaults());
  bool undoing = run.script().phase == ScriptPhase::Rollback;
  if (undoing && policy.max == 0)
    policy = {kCompensationRetries, plan::Backoff::Exponential, kCompensationDelayMs, 0};
  if (!retryable || now.attempt > policy.max) return apply_failure_policy(run, at, error);
  BackoffPolicy backoff{strategy_of(policy.backoff), policy.delay_ms,
                        policy.multiplier_milli / 1000.0,
                        policy.max_delay_ms == 0 ? kLongestDelayMs : policy.max_delay_ms, false};
  auto event = run.event_for<StepRetrying>(at);
  event.attempt = now.attempt;
  event.attempts_max = policy.max + 1;
  event.error = error;
  event.due_ms = run.frame.now_ms() + backoff_ms(backoff, now.attempt, 0);
  run.frame.emit(event);
}

void fail_too_large(RunContext& run, const At& at, const std::string& what) {
  fail_step(
      run, at,
      step_error("NON_RETRYABLE", what + " is larger than " + std::to_string(run.output_max()) +
                                      " bytes, the limit of an output"),
      false);
}

void fail_no_room(RunContext& run, const At& at, uint64_t bytes) {
  fail_step(run, at, step_error("RUN_TOO_LARGE", run.room_told(bytes)), false);
}

void stop_step(RunContext& run, const At& at, const std::string& reason) {
  for (const std::string& path : open_lists_of(run, at)) stop_list(run, path, reason);
  if (!is_over(run.record(at).state)) kind_of(*at.step).cancel(run, at, reason);
}

void stop_list(RunContext& run, const std::string& path, const std::string& reason) {
  const Scope* in = run.scope(path);
  if (in == nullptr || in->closed) return;
  for (uint32_t i = 0; i < in->records.size(); ++i) {
    At here = run.at(path, i);
    if (here.step->dormant && in->records[i].state == StepState::Pending) continue;
    if (!is_over(in->records[i].state)) stop_step(run, here, reason);
  }
  if (!in->closed) run.frame.emit(closed_event(run, *in));
}

void drop_lists_of(RunContext& run, const std::string& step) { drop_lists_below(run, step, {}); }

void drop_list(RunContext& run, const std::string& path) {
  StepsReset event;
  if (run.scope(path) != nullptr) event.dropped.push_back(path);
  drop_lists_below(run, path, std::move(event));
}

}  // namespace pawl::scripts
