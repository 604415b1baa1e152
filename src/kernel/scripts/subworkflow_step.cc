// A step that is a run of another definition.
#include "kernel/scripts/children.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/outside_step.h"
#include "kernel/scripts/step_end.h"
#include "plan/script.h"

namespace pawl::scripts {
namespace {

class SubworkflowKind final : public OutsideKind {
 public:
  void activate(RunContext& run, const At& at, uint32_t attempt) const override {
    StepStarted event = started_outside(run, at, attempt, 0);
    run.frame.emit(event);
    const plan::Step& step = *at.step;
    StartScript command = child_command(run, event.effect);
    Value tree = Value::Object{
        {"definition", step.definition}, {"version", step.version}, {"inputs", step.params}};
    auto filled = fill_template(run.names_for(at, tree.json()), tree, run.plan().text_mode);
    if (!filled.ok())
      return fail_step(run, at, step_error(refusal_code(filled.error()), filled.error().message),
                       false);
    if (!json_fits(filled->value, run.output_max()))
      return fail_too_large(run, at, "what its run is given");
    command.definition = text_of(filled->value.find("definition"));
    command.version = text_of(filled->value.find("version"));
    if (const Value* inputs = filled->value.find("inputs"); inputs && inputs->is_object())
      command.inputs = inputs->json();
    start_child(run, at, std::move(command));
  }
};

constexpr SubworkflowKind kSubworkflowKind;

}  // namespace

const StepKind& subworkflow_kind() { return kSubworkflowKind; }

}  // namespace pawl::scripts
