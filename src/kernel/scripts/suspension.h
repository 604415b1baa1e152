// Whether a run is suspended: only people, signals or a pause hold it. So is then the step of
// another run whose place it fills, and perhaps that run.
#pragma once

#include <string>

#include "kernel/scripts/context.h"

namespace pawl::scripts {

ScriptMoved moved_event(const RunContext& run, ScriptStatus to);
// At the end of a frame's work: emits ScriptMoved if the status is another one now.
void settle_status(RunContext& run);
// A suspended run goes on. Emitted before anything that follows from it: all of that may fit into
// this frame, at whose end the run is over or held again, and nobody would have heard that it
// moved.
void leave_suspension(RunContext& run);
// What a step waited for has come. If others are held as well, the run leaves its suspension only
// when a further step starts.
void note_release(RunContext& run, std::string by);

}  // namespace pawl::scripts
