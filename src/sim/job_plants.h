// Planted bugs in journaled job events: the engine acted correctly, but wrote something else.
#pragma once

#include <string>
#include <string_view>

#include "sim/plants.h"

namespace pawl::sim {

std::string spoil_jobs(const Plants& plants, uint64_t number, std::string record);

}  // namespace pawl::sim
