// A simulated cluster from its first step to its end: `pawl sim --cluster`.
#pragma once

#include "sim/plants.h"
#include "sim/simulation.h"

namespace pawl::sim {

SimReport run_cluster(const SimOptions& options, const Plants& plants);

}  // namespace pawl::sim
