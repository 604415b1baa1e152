// One simulation in a separate process, so that a bug that aborts the program is an ordinary
// result.
#pragma once

#include "sim/simulation.h"

namespace pawl::sim {

// Of the report: ok, checker, what, steps_done, last_lines. An end by a signal is the checker
// "abort".
SimReport run_isolated(const SimOptions& options);

// Bounds this process's memory, so that a growing world ends only this process, not the machine.
void bound_memory();

}  // namespace pawl::sim
