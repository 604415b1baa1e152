// Computations: pure actions. Such a step is computed in the frame that starts it, and its result
// is journaled with its start: no commit in between, and no thread switch. The kernel does not know
// which actions these are.
#pragma once

#include <optional>
#include <string_view>

namespace pawl {

class Meter;
struct EffectRequest;
struct StepOutcome;

class Computations {
 public:
  virtual ~Computations() = default;
  virtual bool knows(std::string_view action) const = 0;
  // Its cost is charged to the meter. nullopt: too expensive for a frame; it must be executed as an
  // effect like any other action.
  virtual std::optional<StepOutcome> compute(EffectRequest request, Meter& meter) const = 0;
};

}  // namespace pawl
