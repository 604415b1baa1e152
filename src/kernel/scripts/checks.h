// The queue of checks: everything that follows from an input is done by drain().
#pragma once

#include "kernel/scripts/context.h"

namespace pawl::scripts {

// Works off all checks, as far as the frame goes, then says whether the run is suspended or at
// work.
void drain(RunContext& run);
// After a pause, a retry or a frame that was cut short: any open list may have something to do.
void schedule_all_checks(RunContext& run);
// Whether the server lets the run have a further step at work. A suspended run in a step's place is
// not at work, but will be.
bool may_start_another(const RunContext& run);

}  // namespace pawl::scripts
