// Circuit breakers: an action that keeps failing at one target is not tried there for a while.
//
// Five failures in a row open it for thirty seconds; then one attempt is let through, and its
// outcome closes or opens it again. Breakers survive a restart. Only failures of the target count:
// not bad parameters, our own refusals or cancellations.
#pragma once

#include <string>
#include <string_view>

namespace pawl {

class Frame;
class State;
struct Run;
struct StepOutcome;

constexpr uint32_t kBreakerFailures = 5;
constexpr int64_t kBreakerOpenMs = 30'000;

struct Breaker {
  uint32_t failures = 0;  // in a row
  int64_t open_until_ms = 0;

  static void fields(auto& self, auto&& visit) {
    visit(1, "failures", self.failures);
    visit(2, "open_until_ms", self.open_until_ms);
  }
};

Breaker find_breaker(const State& state, std::string_view key);
bool counts_for_breaker(const StepOutcome& outcome);
// Counts an ended attempt, and records a change of the breaker in the run's history.
void note_breaker(Frame& frame, const Run& run, uint32_t effect, const StepOutcome& outcome);

}  // namespace pawl
