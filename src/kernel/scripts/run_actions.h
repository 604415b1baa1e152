// Actions that a run does itself (plan::is_done_by_run()).
#pragma once

#include "kernel/scripts/context.h"

namespace pawl::scripts {

// Starts an attempt and ends it, unless it started a child run that has not ended.
void do_run_action(RunContext& run, const At& at, uint32_t attempt);

}  // namespace pawl::scripts
