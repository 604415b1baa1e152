#include "kernel/scripts/breakers.h"

#include "base/value.h"
#include "kernel/frame.h"
#include "kernel/run.h"
#include "kernel/scripts/context.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/step_names.h"
#include "kernel/settings/doc.h"
#include "kernel/settings/settings.h"

namespace pawl {
namespace {

void tell(Frame& frame, const Run& run, const std::string& step, const std::string& type,
          const std::string& key, const Breaker& breaker) {
  StepNoted event;
  event.run = run.id;
  event.step = step;
  auto [around, id] = split_step(step);
  const Scope* scope = frame.state().find_scope(run, around);
  for (uint32_t i = 0; scope != nullptr && i < scope->records.size(); ++i)
    if (scope->records[i].id == id) event.position = i;
  event.type = type;
  Value::Object data;
  data.set("action", key.substr(0, key.find(' ')));
  data.set("key", key);
  data.set("state", type.substr(type.rfind("breaker_") + 8));
  data.set("consecutive_failures", static_cast<int64_t>(breaker.failures));
  data.set("failure_threshold", static_cast<int64_t>(kBreakerFailures));
  data.set("cooldown", std::to_string(kBreakerOpenMs / 1000) + "s");
  event.data = Value(std::move(data)).json();
  frame.emit(event);
}

}  // namespace

Breaker find_breaker(const State& state, std::string_view key) {
  Breaker breaker;
  const Doc* doc = state.find_doc(DocKind::Breaker, key);
  if (doc != nullptr && !codec::decode(doc->value, breaker)) breaker = {};
  return breaker;
}

bool counts_for_breaker(const StepOutcome& outcome) {
  if (outcome.ok) return false;
  const std::string& code = outcome.error.code;
  return code == "EXECUTION_ERROR" || code == "TIMEOUT_ERROR" || code == "ACTION_UNAVAILABLE" ||
         code == "HTTP_ERROR" || (code == "NON_RETRYABLE" && outcome.retryable);
}

void note_breaker(Frame& frame, const Run& run, uint32_t effect, const StepOutcome& outcome) {
  if (outcome.error.code == "CIRCUIT_OPEN") return;
  bool counts = counts_for_breaker(outcome);
  Breaker breaker = find_breaker(frame.state(), outcome.breaker);
  if (!outcome.ok && !counts) return;
  if (outcome.ok && breaker.failures == 0) return;
  std::string step = *run.script->step_of_effect(effect);
  bool was_open = breaker.open_until_ms != 0;
  if (was_open && breaker.open_until_ms <= frame.now_ms())
    tell(frame, run, step, "circuit_breaker_half_open", outcome.breaker, breaker);
  if (outcome.ok) {
    breaker = {};
    if (was_open) tell(frame, run, step, "circuit_breaker_closed", outcome.breaker, breaker);
    (void)delete_doc(frame, DocKind::Breaker, outcome.breaker);
    return;
  }
  ++breaker.failures;
  bool opens = breaker.failures >= kBreakerFailures &&
               (!was_open || breaker.open_until_ms <= frame.now_ms());
  if (opens) breaker.open_until_ms = frame.now_ms() + kBreakerOpenMs;
  put_doc(frame, DocKind::Breaker, outcome.breaker, codec::encoded(breaker));
  if (opens) tell(frame, run, step, "circuit_breaker_open", outcome.breaker, breaker);
}

}  // namespace pawl
