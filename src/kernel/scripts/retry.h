// Retries of runs that are over: see retry.cc for what they keep.
#pragma once

#include <string>

#include "kernel/scripts/context.h"

namespace pawl::scripts {

Result<RetryPlan> retry(RunContext& run, const std::string& from_step, const std::string& inputs,
                        bool preview);
// A failed run goes on as if this step, which failed, had been skipped. `event`: the signal that
// asks for it, emitted unless it is refused.
Status skip_and_retry(RunContext& run, const At& at, const SignalReceived& event);

}  // namespace pawl::scripts
