// Maintenance mode as the store knows it. See ojs/maintenance.cc.
#pragma once

#include "kernel/state.h"

namespace pawl::api {

bool is_in_maintenance(const State& state);

}  // namespace pawl::api
