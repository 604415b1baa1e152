// Prints a failure for people.
#pragma once

#include "sim/simulation.h"

namespace pawl::sim {

// The steps that led to it, one line each, and the command that repeats them.
void print_story(const SimOptions& options, const SimReport& report);

}  // namespace pawl::sim
