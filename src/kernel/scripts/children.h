// Runs within runs: a definition's run that fills the place of a step of another one.
#pragma once

#include <string>

#include "kernel/scripts/context.h"

namespace pawl::scripts {

// A command with all that a run takes over from the one around it.
StartScript child_command(const RunContext& run, uint32_t effect);
// Ends the step if the child cannot start, or is over at once.
void start_child(RunContext& run, const At& at, StartScript command);

// A name that a parameter gives: a text as it is, anything else as JSON; "" if it is not there.
std::string text_of(const Value* value);

// What the end of a run means for the step whose place it fills.
StepOutcome outcome_of_script(const ScriptRun& script);

}  // namespace pawl::scripts
