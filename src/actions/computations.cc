#include "actions/computations.h"

#include <exception>

#include "actions/params_check.h"
#include "actions/pure_actions.h"
#include "actions/receipt.h"
#include "base/plant.h"
#include "kernel/meter.h"

namespace pawl::actions {
namespace {

class Pure : public Computations {
 public:
  bool knows(std::string_view action) const override {
    return static_cast<bool>(find_pure_action(action));
  }

  std::optional<StepOutcome> compute(EffectRequest given, Meter& meter) const override {
    ActionRequest request;
    request.name = std::move(given.action);
    request.params = std::move(given.params);
    request.names = std::move(given.names);
    request.run_id = given.run.text();
    request.step_id = std::move(given.step);
    if (planted == Plant::Action) abort_if_planted(planted, request.params.json());
    expr::Budget budget(kPureHere);  // a more expensive action runs on another thread
    ActionOutcome outcome = done(request, budget);
    meter.charge(budget);
    if (budget.exceeded() != expr::Budget::Exceeded::None) return std::nullopt;
    return receipt_of(outcome, given.secrets);
  }

 private:
  // An exception from a library fails this step, not the server.
  static ActionOutcome done(ActionRequest& request, expr::Budget& budget) try {
    if (Status good = check_params(*find_action(request.name), request.params); !good.ok())
      return ActionOutcome::failure("VALIDATION_ERROR", good.error().message, false);
    return find_pure_action(request.name)(request, budget);
  } catch (const std::exception& thrown) {
    return ActionOutcome::failure(
        "EXECUTION_ERROR", std::string("the action failed inside the server: ") + thrown.what(),
        false);
  }
};

}  // namespace

const Computations& computations() {
  static const Pure kPure;
  return kPure;
}

}  // namespace pawl::actions
