// A step that evaluates an expression and enters the branch that its value names.
#include "expr/number.h"
#include "kernel/scripts/lists.h"
#include "kernel/scripts/lists_step.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/step_names.h"
#include "plan/script.h"

namespace pawl::scripts {
namespace {

void choose_branch(RunContext& run, const At& at) {
  const plan::Step& step = *at.step;
  auto value = evaluate_expression(run.names_for(at, step.expression), step.expression);
  if (!value.ok())
    return fail_step(run, at,
                     step_error("EXPRESSION_ERROR",
                                "its expression cannot be evaluated: " + value.error().message),
                     true);
  if (!json_fits(*value, run.output_max()))
    return fail_too_large(run, at, "what its expression gives");
  std::string key = expr::branch_name(*value);
  uint32_t list = plan::kNoList;
  for (const plan::Branch& branch : step.branches)
    if (branch.key == key) list = branch.list;
  bool matched = list != plan::kNoList;
  if (!matched && step.otherwise != plan::kNoList) {
    list = step.otherwise;
    key = plan::kDefaultBranch;
  }
  auto noted = run.event_for<StepNoted>(at);
  noted.type = "condition_evaluated";
  noted.choice = key;
  Value::Object data;
  data.set("expression", step.expression);
  data.set("result", *value);
  data.set("branch", key);
  noted.data = Value(std::move(data)).json();
  run.frame.emit(noted);
  if (list != plan::kNoList && !run.plan().lists[list].steps.empty())
    return open_list(run, &at, join_path(at.path, key), list, false, 0, "");
  Value::Object output;
  output.set("branch", key);
  if (list == plan::kNoList) output.set("skipped", true);
  complete_step(run, at, Value(std::move(output)).json());
}

class ConditionKind final : public ListsKind {
 public:
  void child_ended(RunContext& run, const At& at) const override {
    const std::string& key = run.record(at).choice;
    const Scope* inner = completed_list(run, at, key);
    if (inner == nullptr) return;
    complete_step(
        run, at,
        "{\"branch\":" + Value(key).json() + ",\"output\":" + last_output(run, *inner) + "}");
  }

 private:
  void enter(RunContext& run, const At& at) const override { choose_branch(run, at); }
};

constexpr ConditionKind kConditionKind;

}  // namespace

const StepKind& condition_kind() { return kConditionKind; }

}  // namespace pawl::scripts
