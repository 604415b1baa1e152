// OutsideKind: a step executed as an effect. Its attempt requests an effect, numbered within the
// run; the receipt ends it.
#pragma once

#include "kernel/scripts/step_kind.h"
#include "plan/ojs/parse_job.h"

namespace pawl::scripts {

class OutsideKind : public StepKind {
 public:
  void answered(RunContext& run, const At& at, StepOutcome outcome) const override;
  void cancel(RunContext& run, const At& at, const std::string& reason) const override;

 protected:
  ~OutsideKind() = default;
};

// The event that begins an attempt, with the number of its effect. `timeout_ms`: the default of a
// step without a timeout; 0 = none.
StepStarted started_outside(const RunContext& run, const At& at, uint32_t attempt,
                            int64_t timeout_ms);

// Makes the job or composition of a step that has begun, or fails the step. Does nothing in a full
// frame: the effect stays open, and the dispatcher makes the child later (make_step_child()).
void make_child_now(RunContext& run, const At& at);
// The rules by which the envelope of a step's child is read.
EnvelopeRules child_rules(const RunContext& run);

// The step no longer needs this effect: cancels its action, job or nested run. 0: does nothing.
void stop_effect(RunContext& run, uint32_t effect);
// The same for all open effects of the run; the steps begin again after the pause.
void stop_open_effects(RunContext& run);

}  // namespace pawl::scripts
