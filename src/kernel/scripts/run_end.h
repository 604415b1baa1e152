// How a run ends: its steps have ended, completed steps are undone if requested (rollback.h), then
// the hook of its outcome runs, then it is finished.
#pragma once

#include <string>

#include "kernel/scripts/context.h"

namespace pawl::scripts {

// Stops every open list, then ends the steps.
void abort_run(RunContext& run, ScriptStatus outcome, const StepError& error,
               const std::string& reason, bool rollback);
// No step is active any more. The outcome of the run is decided here: hooks and compensation cannot
// change it.
void end_steps(RunContext& run, ScriptStatus outcome, const StepError& error,
               const std::string& reason, bool rollback);
// The hooks have ended too. Assembles the outputs, perhaps over several frames, and reports the
// end.
void finish_run(RunContext& run);
// Reports the end to the step of the parent run.
void report_end(RunContext& run);

}  // namespace pawl::scripts
