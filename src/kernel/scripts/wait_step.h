// Steps that wait: signals that end their wait, and its longest duration.
#pragma once

#include <string>

#include "kernel/scripts/context.h"
#include "plan/script.h"

namespace pawl::scripts {

// The signal of a suspended wait has arrived.
void signal_arrived(RunContext& run, const At& at, const std::string& type,
                    const std::string& payload);
// The longest wait for a signal or an answer; 0 = no bound.
int64_t wait_bound_ms(const plan::Step& step);

}  // namespace pawl::scripts
