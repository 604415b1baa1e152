// What an action did, as the step that asked for it learns it: without the secrets it was given.
#pragma once

#include <vector>

#include "actions/action.h"
#include "expr/template/template.h"
#include "kernel/scripts/commands.h"

namespace pawl::actions {

StepOutcome receipt_of(const ActionOutcome& done, const std::vector<expr::Secret>& secrets);

}  // namespace pawl::actions
