// Child runs: the run of a definition started by a step of another run.
#pragma once

#include <string>

#include "kernel/scripts/context.h"
#include "kernel/scripts/run.h"

namespace pawl::scripts {

// A command with everything that a run inherits from its parent.
StartScript child_command(const RunContext& run, uint32_t effect);
// Ends the step if the child cannot start, or ends at once.
void start_child(RunContext& run, const At& at, StartScript command);

// A parameter as a name: text unchanged, other values as JSON; "" if missing.
std::string text_of(const Value* value);

// The outcome of a child run for its step.
StepOutcome outcome_of_script(const ScriptRun& script);

}  // namespace pawl::scripts
