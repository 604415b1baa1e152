// Commands for runs of any kind, by id.
#pragma once

#include <string>

#include "kernel/frame.h"
#include "kernel/run_family.h"

namespace pawl {

// rollback: undo completed steps; InvalidRequest for a run without rollback.
Status cancel_run(Frame& frame, const RunId& run, const std::string& reason, bool rollback = false);
// failed → running, from the failed parts. Repeating the command changes nothing.
Result<RetryPreview> retry_run(Frame& frame, const RunId& run, const RetryRequest& request = {});
// Its timer, or its turn after a yield, is due.
void run_due(Frame& frame, const RunId& run);

}  // namespace pawl
