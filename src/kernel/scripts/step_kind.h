// StepKind: what a step of one kind does. How lists are entered, how steps wait for each other,
// end, fail and are undone is the same for all kinds (lists.h, step_end.h, rollback.h). The
// differences are behind this interface, one file per kind:
//
//   action_step.cc       waits for an effect: an OutsideKind (outside_step.h) numbers it, and its
//   job_step.cc          receipt ends the step. An action is started once the frame is durable,
//   composition_step.cc  unless the run does it itself (run_actions.cc); a job or a nested run is
//   subworkflow_step.cc  made in the frame, and its end is the receipt
//   condition_step.cc    holds lists: a ListsKind (lists_step.h) opens them in activate(), and ends
//   sequence_step.cc     the step by their outputs in child_ended()
//   loop_step.cc
//   parallel_step.cc
//   race_step.cc
//   wait_step.cc         ends by time or by a signal
//   decision_step.cc     ends by the answer of a person or an agent
//   test_step.cc         ends at once
//
// Kinds are stateless, one object each for the whole process. All data of a step is in its
// plan::Step and its StepRecord; a kind only emits events, through the RunContext.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "kernel/scripts/context.h"
#include "kernel/scripts/effect_request.h"
#include "plan/script.h"

namespace pawl::scripts {

class StepKind {
 public:
  // --- what happens to a step
  // An attempt begins: emits StepStarted and its immediate consequences.
  virtual void activate(RunContext& run, const At& at, uint32_t attempt) const = 0;
  // A list of the running step has closed.
  virtual void child_ended(RunContext&, const At&) const {}
  // The run continues after a pause, a retry or a full frame, and the step is running. Only if
  // may_resume(); there may be nothing to do.
  virtual void resume(RunContext&, const At&) const {}
  virtual bool may_resume() const { return false; }
  // The step's own timer is due (DueKind::Wait, DueKind::Deadline).
  virtual void time_over(RunContext&, const At&) const {}
  // The receipt of the step's effect has arrived.
  virtual void answered(RunContext&, const At&, StepOutcome) const {}
  // Ends the step as skipped, and stops its effect, timers and child run.
  virtual void cancel(RunContext& run, const At& at, const std::string& reason) const;

  // --- what the outside is asked for (effects.cc), by kinds that ask
  virtual EffectKind effect_kind() const { return EffectKind::Gone; }
  // Before templates are filled in: the step's own, or such as are put together in `made`.
  virtual const Value& effect_params(const plan::Step& step, Value& /*made*/) const {
    return step.params;
  }
  // Of a job or a composition: makes it as the request says, and fails before anything is emitted.
  virtual Status make_child(RunContext&, const EffectRequest&) const { return ok_status(); }

  // --- what is true of its steps
  // A rollback lists such steps if they have no compensation.
  virtual bool changes_outside() const { return false; }
  // A retry restarts the step as a whole, even if some of its lists completed.
  virtual bool is_redone_whole() const { return false; }
  // For a step that a retry resumes: the first list that was not entered. `dropped`: lists to be
  // dropped.
  virtual uint32_t next_list(const RunContext&, const At&, const std::set<std::string>&) const {
    return 0;
  }

 protected:
  ~StepKind() = default;
};

const StepKind& kind_of(const plan::Step& step);

// The event that begins an attempt without an effect.
StepStarted started(const RunContext& run, const At& at, uint32_t attempt);

// Each is defined in its kind's file.
const StepKind& action_kind();
const StepKind& condition_kind();
const StepKind& loop_kind();
const StepKind& parallel_kind();
const StepKind& race_kind();
const StepKind& wait_kind();
const StepKind& decision_kind();
const StepKind& test_kind();
const StepKind& sequence_kind();
const StepKind& job_kind();
const StepKind& composition_kind();
const StepKind& subworkflow_kind();

}  // namespace pawl::scripts
