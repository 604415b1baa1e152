// Shrinking: removes unrelated steps from a trace of hundreds of steps that breaks an invariant.
#pragma once

#include "sim/simulation.h"

namespace pawl::sim {

struct Shrunk {
  SimOptions options;  // with `only` set
  SimReport report;
  uint32_t tries = 0;
};

// `options` must break an invariant; the result breaks the same one, and no single step of it can
// be removed, unless `tries_max` simulations did not suffice.
Shrunk shrink(const SimOptions& options, uint32_t tries_max = 3'000);

}  // namespace pawl::sim
