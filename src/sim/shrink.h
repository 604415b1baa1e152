// Shrinking: a story of hundreds of steps that breaks a promise, told again without the steps that
// have nothing to do with it.
#pragma once

#include "sim/simulation.h"

namespace pawl::sim {

struct Shrunk {
  SimOptions options;  // with `only` set
  SimReport report;
  uint32_t tries = 0;
};

// `options` must break a promise; what comes out breaks the same one, and no step of it can be left
// out alone, unless `tries_max` simulations did not suffice to get so far.
Shrunk shrink(const SimOptions& options, uint32_t tries_max = 3'000);

}  // namespace pawl::sim
