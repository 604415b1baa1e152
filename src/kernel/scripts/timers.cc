// Handles due timers: timeouts of a run and its steps, next attempts, and ends of waits.
#include "kernel/run.h"
#include "kernel/scripts/checks.h"
#include "kernel/scripts/outside_step.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/run_end.h"
#include "kernel/scripts/step_end.h"
#include "kernel/scripts/step_kind.h"
#include "kernel/scripts/step_names.h"
#include "plan/script.h"

namespace pawl::scripts {
namespace {

// Like `pause` with mode now, so that nothing of the run is active past its deadline.
void pause_for_timeout(RunContext& run) {
  ScriptPaused event;
  event.run = run.id;
  event.paused = true;
  event.reason = kTimeoutReason;
  run.frame.emit(event);
  run.paused_by = kTimeoutReason;
  stop_open_effects(run);
}

void run_timed_out(RunContext& run) {
  Value::Object data;
  data.set("timeout_ms", run.entity().timeout_ms);
  run.note_run("workflow_timed_out", data);
  StepError error = step_error("TIMEOUT_ERROR", "the run took longer than its timeout");
  switch (run.plan().on_timeout) {
    case plan::OnTimeout::Cancel:
      return abort_run(run, ScriptStatus::Cancelled, error, "timeout", false);
    case plan::OnTimeout::Suspend:
      return pause_for_timeout(run);
    case plan::OnTimeout::Fail:
    case plan::OnTimeout::Continue:
      return abort_run(run, ScriptStatus::Failed, error, "timeout",
                       run.plan().on_failure == plan::OnError::Rollback);
  }
}

void step_due(RunContext& run, const At& at) {
  const StepRecord& now = run.record(at);
  switch (now.due) {
    case DueKind::Timeout: {
      uint32_t effect = now.effect;
      fail_step(run, at,
                step_error("TIMEOUT_ERROR", "the step took longer than " +
                                                std::to_string(at.step->timeout_ms) + " ms"),
                true);
      return stop_effect(run, effect);
    }
    case DueKind::Retry: {
      Value::Object data;
      data.set("step_id", at.path);
      data.set("attempt", static_cast<int64_t>(now.attempt + 1));
      data.set("max_attempts", static_cast<int64_t>(at.step->retry.max + 1));
      data.set("error", now.error.message);
      data.set("retryable", true);
      uint32_t attempt = now.attempt + 1;
      run.note(at, "step_retry_attempt", data);
      return kind_of(*at.step).activate(run, at, attempt);
    }
    case DueKind::Wait:
    case DueKind::Deadline:
      return kind_of(*at.step).time_over(run, at);
    case DueKind::None:
      return;
  }
}

void fire_dues(RunContext& run) {
  bool yielded = run.script().yielded_ms != 0;
  if (yielded) run.frame.emit(ScriptYielded{run.id});
  if (run.full())
    return run.frame.emit(ScriptYielded{run.id});  // due timers wait for the run's turn
  if (yielded) schedule_all_checks(run);
  while (!is_terminal(run.entity().state) && !run.script().paused && !run.script().dues.empty()) {
    auto [due_ms, name] = *run.script().dues.begin();
    if (due_ms > run.frame.now_ms()) break;
    if (run.full()) {
      run.cut_short = true;
      break;
    }
    if (name == kTimeoutDue) {
      run_timed_out(run);
    } else {
      At at;
      PAWL_CHECK(run.find(name, at));
      step_due(run, at);
    }
  }
  drain(run);
}

}  // namespace
}  // namespace pawl::scripts

namespace pawl {

void script_due(Frame& frame, const RunId& id) {
  scripts::RunContext run(frame, id);
  scripts::fire_dues(run);
}

}  // namespace pawl
