#include "actions/receipt.h"

#include "actions/blotter.h"

namespace pawl::actions {

StepOutcome receipt_of(const ActionOutcome& done, const std::vector<expr::Secret>& secrets) {
  const Blotter blotter(secrets);
  StepOutcome outcome;
  outcome.ok = done.ok;
  if (done.ok) {
    Value output = done.output;
    blotter.value(output);
    outcome.output = output.json();
    return outcome;
  }
  Value details = done.details;
  blotter.value(details);
  outcome.error.code = done.code;
  outcome.error.message = blotter.message(done.message);
  if (!details.is_null()) outcome.error.details = details.json();
  outcome.retryable = done.retryable;
  return outcome;
}

}  // namespace pawl::actions
