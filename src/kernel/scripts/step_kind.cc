#include "kernel/scripts/step_kind.h"

#include <array>

#include "kernel/scripts/step_end.h"
#include "plan/script.h"

namespace pawl::scripts {
namespace {

using KindOf = const StepKind& (*)();

// In the order of plan::StepType.
constexpr std::array<KindOf, 11> kKinds = {
    action_kind, condition_kind, loop_kind, parallel_kind,    wait_kind,        decision_kind,
    test_kind,   sequence_kind,  job_kind,  composition_kind, subworkflow_kind,
};
static_assert(static_cast<size_t>(plan::StepType::Subworkflow) + 1 == kKinds.size());

}  // namespace

const StepKind& kind_of(const plan::Step& step) {
  if (step.type == plan::StepType::Parallel && step.parallel_mode == plan::ParallelMode::Race)
    return race_kind();
  return kKinds[static_cast<size_t>(step.type)]();
}

StepStarted started(const RunContext& run, const At& at, uint32_t attempt) {
  auto event = run.event_for<StepStarted>(at);
  event.type = at.step->type_name;
  event.attempt = attempt;
  if (at.step->timeout_ms != 0) {
    event.due_ms = run.frame.now_ms() + at.step->timeout_ms;
    event.due = DueKind::Timeout;
  }
  return event;
}

void StepKind::cancel(RunContext& run, const At& at, const std::string& reason) const {
  emit_skipped(run, at, reason);
}

}  // namespace pawl::scripts
