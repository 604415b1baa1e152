// How a run comes to its end: its steps are over, what was done is undone if that was asked for
// (rollback.h), then the hook of its outcome runs, then it is finished.
#pragma once

#include <string>

#include "kernel/scripts/context.h"

namespace pawl::scripts {

// Stops every open list, then ends the steps.
void abort_run(RunContext& run, ScriptStatus outcome, const StepError& error,
               const std::string& reason, bool rollback);
// No step is at work any more. How the run ends is decided here: hooks and compensation can only
// fail themselves.
void end_steps(RunContext& run, ScriptStatus outcome, const StepError& error,
               const std::string& reason, bool rollback);
// The hooks are over too. Puts the outputs together, perhaps over several frames, and reports the
// end.
void finish_run(RunContext& run);
// Answers the step of another run whose place this one fills.
void report_end(RunContext& run);

}  // namespace pawl::scripts
