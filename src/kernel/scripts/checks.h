// The queue of checks: drain() does everything that follows from an input.
#pragma once

#include "kernel/scripts/context.h"

namespace pawl::scripts {

// Processes all checks, as far as the frame allows, then updates whether the run is suspended or
// active.
void drain(RunContext& run);
// After a pause, a retry or a frame that was cut short: any open list may have something to do.
void schedule_all_checks(RunContext& run);
// Whether the settings allow the run another active step. A step with a suspended child run counts,
// since the child will become active.
bool may_start_another(const RunContext& run);

}  // namespace pawl::scripts
