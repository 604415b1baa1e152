// What can be asked of a run of any kind, by its id.
#pragma once

#include <string>

#include "kernel/frame.h"
#include "kernel/run_family.h"

namespace pawl {

// rollback: undo what has completed; InvalidRequest for a run that cannot.
Status cancel_run(Frame& frame, const RunId& run, const std::string& reason, bool rollback = false);
// failed → running again from what failed. Asking twice is asking once.
Result<RetryPlan> retry_run(Frame& frame, const RunId& run, const RetryRequest& request = {});
// Its timer, or its turn after it has yielded, has come.
void run_due(Frame& frame, const RunId& run);

}  // namespace pawl
