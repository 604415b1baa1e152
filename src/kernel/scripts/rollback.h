// Rollback: the compensations of completed steps, run one after the other from the last to the
// first.
#pragma once

#include <string>

#include "kernel/scripts/context.h"

namespace pawl::scripts {

void start_rollback(RunContext& run);
// Opens the list that undoes the next step; ends the steps if none is left.
void compensate_next(RunContext& run);
// The list at this path undid a step, or failed to.
void compensation_closed(RunContext& run, const std::string& path);

}  // namespace pawl::scripts
