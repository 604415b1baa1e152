// A report on the planted bugs: how many seeds each took, which checker found it, and the length of
// its shrunk trace.
#pragma once

#include <cstdint>

namespace pawl::sim {

// Prints a table to stdout. Returns how many were not found within `seeds_max` seeds each, or were
// found by a checker that plants.def does not name.
int print_plant_report(uint64_t seeds_max);

}  // namespace pawl::sim
