// Actions that a run does itself (plan::is_done_by_run()).
#pragma once

#include "kernel/scripts/context.h"

namespace pawl::scripts {

// Starts an attempt and ends it, unless a run was started that is not over yet.
void do_run_action(RunContext& run, const At& at, uint32_t attempt);

}  // namespace pawl::scripts
