// Planted bugs in journaled events of runs of definitions.
#pragma once

#include <string>

#include "sim/plants.h"

namespace pawl::sim {

std::string spoil_scripts(const Plants& plants, uint64_t number, std::string record);

}  // namespace pawl::sim
