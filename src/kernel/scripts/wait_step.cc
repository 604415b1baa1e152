// A step that waits for a time or a signal.
#include "kernel/scripts/wait_step.h"

#include <algorithm>
#include <utility>

#include "base/time.h"
#include "expr/number.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/run_end.h"
#include "kernel/scripts/step_end.h"
#include "kernel/scripts/step_kind.h"
#include "kernel/scripts/suspension.h"
#include "plan/script.h"

namespace pawl::scripts {
namespace {

bool is_meant_for(const KeptSignal& signal, const std::string& name, const At& at) {
  if (!signal.step.empty()) return signal.step == at.path || signal.step == at.step->id;
  return signal.type == name;
}

void end_wait(RunContext& run, const At& at, Value output) {
  run.note(at, "wait_completed", output);
  complete_step(run, at, output.json());
}

void signal_missed(RunContext& run, const At& at) {
  const plan::Step& step = *at.step;
  if (step.on_timeout == plan::OnTimeout::Continue) {
    note_release(run, "timer");
    Value::Object output;
    output.set("timed_out", true);
    output.set("signal", step.signal);
    return end_wait(run, at, std::move(output));
  }
  StepError error =
      step_error("TIMEOUT_ERROR", "the signal '" + step.signal + "' did not come in time");
  if (step.on_timeout == plan::OnTimeout::Cancel)
    return abort_run(run, ScriptStatus::Cancelled, error, "timeout", false);
  if (step.on_timeout == plan::OnTimeout::Suspend) {
    auto event = run.event_for<StepSuspended>(at);
    event.signal = run.record(at).signal;
    return run.frame.emit(event);  // it keeps waiting, without a timer
  }
  note_release(run, "timer");
  fail_step(run, at, std::move(error), true);
}

bool take_kept_signal(RunContext& run, const At& at, const std::string& name) {
  const auto& kept = run.script().signals;
  for (uint32_t i = 0; i < kept.size(); ++i) {
    if (!is_meant_for(kept[i], name, at)) continue;
    KeptSignal signal = kept[i];
    run.frame.emit(SignalTaken{run.id, i});
    signal_arrived(run, at, signal.type, signal.payload);
    return true;
  }
  return false;
}

void begin_wait(RunContext& run, const At& at, uint32_t attempt) {
  const plan::Step& step = *at.step;
  StepStarted event = started(run, at, attempt);
  int64_t until_ms = 0;
  std::string problem;
  if (!step.until.empty() || !step.duration.empty()) {
    const std::string& text = step.until.empty() ? step.duration : step.until;
    auto filled = fill_template(run.names_for(at, text), Value(text), false);
    std::string plain = !filled.ok()                ? text
                        : filled->value.is_string() ? filled->value.as_string()
                                                    : filled->value.json();
    Result<int64_t> when = !step.until.empty() ? parse_rfc3339(plain) : parse_duration_ms(plain);
    if (filled.ok() && filled->value.is_number() && step.until.empty())
      when = expr::ms_of_seconds(filled->value, kDurationMsMax);
    if (!filled.ok() || !when.ok())
      problem = filled.ok() ? when.error().message : filled.error().message;
    else
      until_ms = step.until.empty() ? run.frame.now_ms() + *when : *when;
  } else if (step.signal.empty()) {
    until_ms = run.frame.now_ms() + step.duration_ms;
  }
  if (!problem.empty() || !step.signal.empty()) {
    run.frame.emit(event);
  } else {
    event.due_ms = std::max(until_ms, run.frame.now_ms());
    event.due = DueKind::Wait;
    run.frame.emit(event);
  }
  if (!problem.empty())
    return fail_step(run, at,
                     step_error("EXPRESSION_ERROR", "it cannot tell how long to wait: " + problem),
                     true);
  Value::Object data;
  if (!step.signal.empty()) data.set("signal", step.signal);
  if (until_ms != 0) {
    data.set("duration", until_ms - run.frame.now_ms());
    data.set("until", format_rfc3339_ms(until_ms));
  }
  run.note(at, "wait_started", data);
  if (step.signal.empty() || take_kept_signal(run, at, step.signal)) return;
  auto suspended = run.event_for<StepSuspended>(at);
  suspended.signal = step.signal;
  int64_t wait_ms = wait_bound_ms(step);
  suspended.due_ms = wait_ms == 0 ? 0 : run.frame.now_ms() + wait_ms;
  run.frame.emit(suspended);
}

class WaitKind final : public StepKind {
 public:
  void activate(RunContext& run, const At& at, uint32_t attempt) const override {
    if (attempt > 1) drop_lists_of(run, at.path);
    begin_wait(run, at, attempt);
  }
  void time_over(RunContext& run, const At& at) const override {
    if (run.record(at).due == DueKind::Deadline) return signal_missed(run, at);
    Value::Object output;
    output.set("waited", run.frame.now_ms() - run.record(at).started_ms);
    end_wait(run, at, std::move(output));
  }
};

constexpr WaitKind kWaitKind;

}  // namespace

int64_t wait_bound_ms(const plan::Step& step) {
  if (step.wait_timeout_ms == 0 || step.timeout_ms == 0)
    return std::max(step.wait_timeout_ms, step.timeout_ms);
  return std::min(step.wait_timeout_ms, step.timeout_ms);
}

void signal_arrived(RunContext& run, const At& at, const std::string& type,
                    const std::string& payload) {
  Value::Object output;
  output.set("signal", type);
  output.set("payload", stored_value(payload));
  note_release(run, "signal");
  end_wait(run, at, std::move(output));
}

const StepKind& wait_kind() { return kWaitKind; }

}  // namespace pawl::scripts
