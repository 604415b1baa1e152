#include "kernel/scripts/outside_step.h"

#include <utility>

#include "kernel/jobs/finish_job.h"
#include "kernel/jobs/job.h"
#include "kernel/messages/placing.h"
#include "kernel/run.h"
#include "kernel/run_commands.h"
#include "kernel/scripts/checks.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/open_lists.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/secret_source.h"
#include "kernel/scripts/step_end.h"
#include "kernel/state.h"

namespace pawl::scripts {
namespace {

// An id may be used again once its run is deleted. Numbers then begin elsewhere, so that effects
// and jobs of the first run are never taken for those of the second.
uint32_t next_effect(const RunContext& run) {
  constexpr uint64_t kFirstMask = 0x3fffffff;
  if (run.script().next_effect != 1) return run.script().next_effect;
  return 1 + static_cast<uint32_t>(mix64(run.script().created_sequence) & kFirstMask);
}

void make_child_of(RunContext& run, const At& at) {
  const uint32_t effect = run.record(at).effect;
  auto request =
      request_in_frame(run.state, run.id, effect, run.frame.now_ms(), &run.frame.meter());
  if (!request.ok())
    return fail_step(run, at, step_error(refusal_code(request.error()), request.error().message),
                     false);
  Status made = ok_status();
  {
    Frame::MakingChild making(run.frame);
    made = kind_of(*at.step).make_child(run, *request);
  }
  if (made.ok()) return;
  const bool full = made.error().code == ErrorCode::QueueFull;  // later there may be room
  fail_step(run, at, step_error(full ? "QUEUE_FULL" : "VALIDATION_ERROR", made.error().message),
            full);
}

}  // namespace

StepStarted started_outside(const RunContext& run, const At& at, uint32_t attempt,
                            int64_t timeout_ms) {
  StepStarted event = started(run, at, attempt);
  event.effect = next_effect(run);
  if (at.step->timeout_ms == 0 && timeout_ms != 0) {
    event.due_ms = run.frame.now_ms() + timeout_ms;
    event.due = DueKind::Timeout;
  }
  return event;
}

void make_child_now(RunContext& run, const At& at) {
  if (!run.full()) make_child_of(run, at);
}

// Its run knows when a step's job has failed for good, and is what is tried again then.
EnvelopeRules child_rules(const RunContext& run) {
  return {
      .now_ms = run.frame.now_ms(), .tenant = run.entity().tenant, .unsaid = OnExhaustion::Discard};
}

void OutsideKind::answered(RunContext& run, const At& at, StepOutcome outcome) const {
  if (!outcome.ok) return fail_step(run, at, outcome.error, outcome.retryable);
  Status fits = outcome.judged ? ok_status() : judge_text("its output", outcome.output, SIZE_MAX);
  if (!fits.ok())
    return fail_step(run, at, step_error("NON_RETRYABLE", fits.error().message), false);
  complete_step(run, at, outcome.output.empty() ? std::string("null") : std::move(outcome.output));
}

void OutsideKind::cancel(RunContext& run, const At& at, const std::string& reason) const {
  uint32_t effect = run.record(at).effect;
  emit_skipped(run, at, reason);
  stop_effect(run, effect);  // last: no step must wait for a child when it ends
}

void stop_effect(RunContext& run, uint32_t effect) {
  if (effect == 0) return;
  run.frame.note_cancelled_effect(run.entity(), effect);
  Uuid child = step_child_id(run.state, child_id(run.entity(), effect));
  if (const Run* nested = run.state.find_run(RunId(child))) {
    if (is_terminal(nested->state)) return;
    (void)cancel_run(run.frame, nested->id, "the run around it no longer needs it");
  } else if (const Job* job = run.state.find_job(JobId(child)); job && !is_terminal(job->state)) {
    cancel_job(run.frame, *job, "the run around it no longer needs it");
  }
}

void stop_open_effects(RunContext& run) {
  StepsReset reset;
  reset.run = run.id;
  std::vector<uint32_t> stopped;
  for (const OpenEffect& open : run.script().effects) {
    At at;
    if (!run.find(open.step, at)) continue;
    stopped.push_back(open.effect);
    uint32_t before = run.record(at).attempt - 1;
    reset.steps.push_back({at.path, at.position, at.step->dormant, false, before, 0});
  }
  run.frame.emit(reset);
  for (uint32_t effect : stopped) stop_effect(run, effect);
}

}  // namespace pawl::scripts

namespace pawl {

void make_step_child(Frame& frame, const RunId& id, uint32_t effect) {
  auto request = effect_request(frame.state(), {id, effect}, NoSecrets(), frame.now_ms());
  if (!request.ok() ||
      (request->kind != EffectKind::Job && request->kind != EffectKind::Composition))
    return;
  scripts::RunContext run(frame, id);
  scripts::At at;
  if (!run.find(request->step, at)) return;
  scripts::make_child_of(run, at);
  scripts::drain(run);
}

}  // namespace pawl
