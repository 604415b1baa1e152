// The last word on a run of a definition that nobody disturbed: it ended as a plain interpreter of
// the definition says (kernel/scripts/model.h), given how each action was answered.
#pragma once

#include <string>

#include "sim/script_model.h"

namespace pawl::sim {

// A definition whose ends are determined by a seed, as text.
std::string determinate_definition(uint64_t seed);
// How the performer of such a step answers when it is asked for the n-th time.
StepOutcome determinate_answer(uint64_t seed, const std::string& step, size_t nth);
// What is wrong about the run's end; "" if nothing is.
std::string fault_by_oracle(uint64_t seed, const ModelScript& run, ScriptStatus status,
                            const StepError& error);

}  // namespace pawl::sim
