// The pure actions (pure_actions.h) for steps of definitions, done where the step is decided.
#pragma once

#include "kernel/scripts/computations.h"

namespace pawl::actions {

const Computations& computations();

}  // namespace pawl::actions
