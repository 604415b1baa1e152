#include "actions/receipt.h"

#include "actions/blotter.h"
#include "kernel/scripts/json_fits.h"

namespace pawl::actions {

namespace {

Value blotted(const Blotter& blotter, Value value) {
  blotter.value(value);
  return value;
}

}  // namespace

StepOutcome receipt_of(const ActionOutcome& done, const std::vector<expr::Secret>& secrets) {
  const Blotter blotter(secrets);
  StepOutcome outcome;
  outcome.ok = done.ok;
  if (done.ok) {
    outcome.output = secrets.empty() ? done.output.json() : blotted(blotter, done.output).json();
    outcome.judged = json_values(outcome.output, kValuesMax) <= kValuesMax;
    return outcome;
  }
  Value details = blotted(blotter, done.details);
  outcome.error.code = done.code;
  outcome.error.message = blotter.message(done.message);
  if (!details.is_null()) outcome.error.details = details.json();
  outcome.retryable = done.retryable;
  return outcome;
}

}  // namespace pawl::actions
