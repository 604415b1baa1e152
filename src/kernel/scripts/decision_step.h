// Questions of steps to people and agents, and their answers.
#pragma once

#include <string>

#include "kernel/scripts/context.h"

namespace pawl::scripts {

// Whether this step waits for a decision, and this answer may be the one.
Status check_answer(const RunContext& run, const std::string& step, const DecisionAnswer& answer);
// Checks the answer and ends the step by it.
Status resolve(RunContext& run, const std::string& step, const DecisionAnswer& answer);

}  // namespace pawl::scripts
