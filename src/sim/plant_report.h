// The test of the tester, for people: every planted bug, how many seeds it took, which checker
// found it, and how short its story becomes.
#pragma once

#include <cstdint>

namespace pawl::sim {

// Prints a table to stdout. Returns how many were not found within `seeds_max` seeds each, or were
// found by a checker that plants.def does not name.
int print_plant_report(uint64_t seeds_max);

}  // namespace pawl::sim
