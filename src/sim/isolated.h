// One simulation in a process of its own, so that a bug that aborts the program is a result like
// any other.
#pragma once

#include "sim/simulation.h"

namespace pawl::sim {

// Of the report: ok, checker, what, steps_done, last_lines. An end by a signal is the checker
// "abort".
SimReport run_isolated(const SimOptions& options);

// Bounds this process's memory, so that a world which never stops growing ends by itself and not
// the machine.
void bound_memory();

}  // namespace pawl::sim
