// An action step: done by the run itself, computed in the frame, or executed as an effect.
#include <optional>
#include <utility>

#include "kernel/scripts/computations.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/outside_step.h"
#include "kernel/scripts/run_actions.h"
#include "kernel/scripts/secret_source.h"
#include "kernel/scripts/step_end.h"
#include "kernel/state.h"

namespace pawl::scripts {
namespace {

// A pure action is computed here, unless it is expensive or has secrets: only the preparation of
// effects may open secrets.
std::optional<StepOutcome> computed(RunContext& run, const At& at, uint32_t effect) {
  const Computations* computations = run.state.script_defaults().computations;
  if (computations == nullptr || run.frame.meter().spent()) return std::nullopt;
  if (!computations->knows(at.step->action)) return std::nullopt;
  if (at.step->params_text.find("secrets") != std::string::npos) return std::nullopt;
  auto request =
      request_in_frame(run.state, run.id, effect, run.frame.now_ms(), &run.frame.meter());
  if (!request.ok())
    return failed_outcome(refusal_code(request.error()), request.error().message, false);
  if (request->kind != EffectKind::Action) return std::nullopt;
  return computations->compute(std::move(*request), run.frame.meter());
}

class ActionKind final : public OutsideKind {
 public:
  void activate(RunContext& run, const At& at, uint32_t attempt) const override {
    if (plan::is_done_by_run(at.step->action_kind)) return do_run_action(run, at, attempt);
    StepStarted event =
        started_outside(run, at, attempt, run.state.script_defaults().step_timeout_ms);
    run.frame.emit(event);
    if (auto outcome = computed(run, at, event.effect)) answered(run, at, std::move(*outcome));
  }
  // Only action outputs are bounded here: a job's result has its own bound (limits.result_bytes).
  void answered(RunContext& run, const At& at, StepOutcome outcome) const override {
    if (outcome.ok && outcome.output.size() > run.output_max())
      return fail_too_large(run, at, "its output");
    OutsideKind::answered(run, at, std::move(outcome));
  }
  bool changes_outside() const override { return true; }

  EffectKind effect_kind() const override { return EffectKind::Action; }
};

constexpr ActionKind kActionKind;

}  // namespace

const StepKind& action_kind() { return kActionKind; }

}  // namespace pawl::scripts
