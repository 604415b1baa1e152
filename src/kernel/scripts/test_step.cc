// A step with only a condition: its output is {result: bool}.
#include "kernel/scripts/step_end.h"
#include "kernel/scripts/step_kind.h"
#include "plan/script.h"

namespace pawl::scripts {
namespace {

class TestKind final : public StepKind {
 public:
  void activate(RunContext& run, const At& at, uint32_t attempt) const override {
    if (attempt > 1) drop_lists_of(run, at.path);
    run.frame.emit(started(run, at, attempt));
    const plan::Step& step = *at.step;
    auto value = test_expression(run.names_for(at, step.expression), step.expression);
    if (!value.ok())
      return fail_step(run, at,
                       step_error("EXPRESSION_ERROR",
                                  "its condition cannot be evaluated: " + value.error().message),
                       true);
    Value::Object data;
    data.set("expression", step.expression);
    data.set("result", *value);
    run.note(at, "condition_evaluated", data);
    Value::Object output;
    output.set("result", *value);
    complete_step(run, at, Value(std::move(output)).json());
  }
};

constexpr TestKind kTestKind;

}  // namespace

const StepKind& test_kind() { return kTestKind; }

}  // namespace pawl::scripts
