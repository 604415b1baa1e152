// Steps that wait: what ends their waiting from outside, and how long they wait at most.
#pragma once

#include <string>

#include "kernel/scripts/context.h"

namespace pawl::scripts {

// The signal that a suspended wait waits for has come.
void signal_arrived(RunContext& run, const At& at, const std::string& type,
                    const std::string& payload);
// How long a signal or an answer is waited for; 0 = without a bound.
int64_t wait_bound_ms(const plan::Step& step);

}  // namespace pawl::scripts
