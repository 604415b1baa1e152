// Retries of ended runs: see retry.cc for the steps they keep.
#pragma once

#include <string>

#include "kernel/scripts/context.h"

namespace pawl::scripts {

Result<RetryPreview> retry(RunContext& run, const std::string& from_step, const std::string& inputs,
                           bool preview);
// A failed run continues as if this failed step had been skipped. `event`: the signal, emitted
// unless it is refused.
Status skip_and_retry(RunContext& run, const At& at, const SignalReceived& event);

}  // namespace pawl::scripts
