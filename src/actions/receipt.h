// The outcome of an action for its step, with secrets masked.
#pragma once

#include <vector>

#include "actions/action.h"
#include "expr/template/template.h"
#include "kernel/scripts/effect_request.h"

namespace pawl::actions {

StepOutcome receipt_of(const ActionOutcome& done, const std::vector<expr::Secret>& secrets);

}  // namespace pawl::actions
