// Checks an undisturbed run of a definition: it must end as a plain interpreter of the definition
// predicts (kernel/scripts/model.h), given the answers to its actions.
#pragma once

#include <string>

#include "kernel/scripts/effect_request.h"
#include "sim/script_model.h"

namespace pawl::sim {

// A definition whose outcome is determined by a seed, as text.
std::string determinate_definition(uint64_t seed);
// The performer's n-th answer for such a step.
StepOutcome determinate_answer(uint64_t seed, const std::string& step, size_t nth);
// The error in the run's end; "" if there is none.
std::string fault_by_oracle(uint64_t seed, const ModelScript& run, ScriptStatus status,
                            const StepError& error);

}  // namespace pawl::sim
