// A broken promise, told to a person.
#pragma once

#include "sim/simulation.h"

namespace pawl::sim {

// The steps that led to it, one line each, and the command that shows them again.
void print_story(const SimOptions& options, const SimReport& report);

}  // namespace pawl::sim
