// Planted bugs in what is journaled about jobs: the engine did the right thing, and wrote another.
#pragma once

#include <string>
#include <string_view>

#include "sim/plants.h"

namespace pawl::sim {

std::string spoil_jobs(const Plants& plants, uint64_t number, std::string record);

}  // namespace pawl::sim
