// A step that is a chain, group or batch of jobs.
#include "kernel/compositions/run_flow.h"
#include "kernel/run.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/outside_step.h"
#include "plan/ojs/parse_workflow.h"

namespace pawl::scripts {
namespace {

class CompositionKind final : public OutsideKind {
 public:
  void activate(RunContext& run, const At& at, uint32_t attempt) const override {
    run.frame.emit(started_outside(run, at, attempt, 0));
    make_child_now(run, at);
  }
  EffectKind effect_kind() const override { return EffectKind::Composition; }
  Status make_child(RunContext& run, const EffectRequest& request) const override {
    ValueDoc body(request.params);
    PAWL_TRY_DO(body.status());
    run.frame.meter().charge_copied(body.text().size());
    PAWL_TRY(PlanNode plan, parse_workflow(body.root(), child_rules(run)));
    JobParent parent{run.id, place_of_effect(request.effect)};
    return create_child_run(run.frame, plan, parent, run.entity().tenant);
  }
};

constexpr CompositionKind kCompositionKind;

}  // namespace

const StepKind& composition_kind() { return kCompositionKind; }

}  // namespace pawl::scripts
