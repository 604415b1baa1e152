// Computations: actions that need nothing but what they are given. A definition's step that is one
// is done in the frame that starts it, and its result journaled with its start: no commit between
// them, and no thread changed. The kernel does not know which actions these are.
#pragma once

#include <optional>

#include "kernel/scripts/commands.h"

namespace pawl {

class Computations {
 public:
  virtual ~Computations() = default;
  virtual bool knows(std::string_view action) const = 0;
  // What it cost is charged to the meter. nullopt: it costs more than a frame should wait for; it
  // is to be asked for outside like any other action.
  virtual std::optional<StepOutcome> compute(EffectRequest request, Meter& meter) const = 0;
};

}  // namespace pawl
