// Circuit breakers: an action that keeps failing at one place is not tried there for a while.
//
// Five failures in a row open it for thirty seconds; then one attempt is let through, and its
// outcome closes or opens it again. What is known survives a restart. Only failures that the place
// is to blame for count: not bad parameters, not refusals of ours, not cancellations.
#pragma once

#include <string>
#include <string_view>

#include "kernel/scripts/commands.h"

namespace pawl {

constexpr uint32_t kBreakerFailures = 5;
constexpr int64_t kBreakerOpenMs = 30'000;

struct Breaker {
  uint32_t failures = 0;  // in a row
  int64_t open_until_ms = 0;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "failures", self.failures);
    visit(2, "open_until_ms", self.open_until_ms);
  }
};

Breaker find_breaker(const State& state, std::string_view key);
bool counts_for_breaker(const StepOutcome& outcome);
// An attempt has ended: counts it, and says in the run's history when the breaker moves.
void note_breaker(Frame& frame, const Run& run, uint32_t effect, const StepOutcome& outcome);

}  // namespace pawl
