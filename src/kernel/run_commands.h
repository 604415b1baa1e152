// Commands for runs of any kind, by id.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/uuid.h"
#include "journal/events.h"

namespace pawl {

class Frame;

struct RetryRequest {
  std::string from_step = {};  // "" = from what failed
  std::string inputs = {};     // JSON object that replaces the run's inputs, or ""
  bool preview = false;        // nothing happens; only returns the plan
};
// The steps that a retry runs again, and those it keeps.
struct RetryPreview {
  std::vector<std::string> again;
  std::vector<std::string> kept;
};

// rollback: undo completed steps; InvalidRequest for a run without rollback.
Status cancel_run(Frame& frame, const RunId& run, const std::string& reason, bool rollback = false);
// failed → running, from the failed parts. Repeating the command changes nothing.
Result<RetryPreview> retry_run(Frame& frame, const RunId& run, const RetryRequest& request = {});
// Its timer, or its turn after a yield, is due.
void run_due(Frame& frame, const RunId& run);

}  // namespace pawl
