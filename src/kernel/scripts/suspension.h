// Whether a run is suspended: it waits only for people, signals or the end of a pause. Then its
// step in the parent run is suspended too, and perhaps that run.
#pragma once

#include <string>

#include "kernel/scripts/context.h"

namespace pawl::scripts {

ScriptMoved moved_event(const RunContext& run, ScriptStatus to);
// At the end of a frame: emits ScriptMoved if the status has changed.
void settle_status(RunContext& run);
// A suspended run becomes active. Emitted before the consequences: the run may end or be suspended
// again within this frame, and the change would not be recorded.
void leave_suspension(RunContext& run);
// A step's wait has ended. If other steps still wait, the run leaves its suspension only when a
// further step starts.
void note_release(RunContext& run, std::string by);

}  // namespace pawl::scripts
