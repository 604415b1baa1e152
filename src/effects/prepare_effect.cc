#include "effects/prepare_effect.h"

#include <exception>

#include "actions/blotter.h"
#include "actions/receipt.h"
#include "base/working_on.h"
#include "kernel/meter.h"
#include "kernel/scripts/breakers.h"
#include "kernel/scripts/commands.h"
#include "kernel/scripts/effect_request.h"

namespace pawl {
namespace {

constexpr uint64_t kUnitsPerEffect = 100;

StepOutcome failure(std::string code, std::string message) {
  StepOutcome outcome;
  outcome.error = {std::move(code), std::move(message), "", ""};
  return outcome;
}

// Filling in parameters changes nothing, so an exception from a library (no memory) can be the
// outcome of this step. An unreadable row is not a std::exception and passes through.
Result<EffectRequest> requested(const State& state, const EffectNote& note,
                                const SecretSource& secrets, int64_t now_ms, Meter& meter) {
  try {
    return effect_request(state, note, secrets, now_ms, &meter);
  } catch (const std::exception& thrown) {
    return Error{ErrorCode::InvalidContent,
                 std::string("the parameters cannot be filled in: ") + thrown.what()};
  }
}

void ask_breaker(const State& state, int64_t now_ms, ReadyEffect& effect) {
  const EffectRequest& request = effect.request;
  effect.breaker = actions::breaker_key(request.action, request.params);
  // The host of an address may hold a secret.
  if (!request.secrets.empty())
    effect.breaker = actions::Blotter(request.secrets).message(effect.breaker);
  Breaker breaker = effect.breaker.empty() ? Breaker{} : find_breaker(state, effect.breaker);
  effect.probe = breaker.open_until_ms != 0;
  if (breaker.open_until_ms > now_ms)
    effect.refusal =
        failure("CIRCUIT_OPEN", "the circuit breaker of '" + effect.breaker + "' is open after " +
                                    std::to_string(breaker.failures) + " failures");
}

}  // namespace

std::optional<ReadyEffect> prepare_effect(const State& state, const EffectNote& note,
                                          const SecretSource& secrets, int64_t now_ms,
                                          Meter& meter) {
  WorkingOn working(note.run);
  meter.charge(kUnitsPerEffect);
  ReadyEffect effect;
  effect.cancel = note.cancel;
  effect.request.run = note.run;
  effect.request.effect = note.effect;
  if (note.cancel) return effect;
  auto request = requested(state, note, secrets, now_ms, meter);
  if (!request.ok()) {
    effect.refusal = failure(refusal_code(request.error()), request.error().message);
    return effect;
  }
  if (request->kind == EffectKind::Gone) return std::nullopt;
  effect.request = std::move(request).value();
  if (effect.request.kind == EffectKind::Action) ask_breaker(state, now_ms, effect);
  return effect;
}

actions::ActionRequest action_request(EffectRequest& request, std::string work_directory) {
  actions::ActionRequest made;
  made.name = request.action;
  made.params = std::move(request.params);
  made.names = std::move(request.names);
  made.run_id = request.run.text();
  made.step_id = request.step;
  made.idempotency_key = idempotency_key(request);
  made.timeout_ms = request.timeout_ms;
  made.work_directory = std::move(work_directory);
  made.secrets = request.secrets;
  return made;
}

StepOutcome receipt_of(const ReadyEffect& effect, const actions::ActionOutcome& done) {
  StepOutcome receipt = actions::receipt_of(done, effect.request.secrets);
  receipt.breaker = effect.breaker;
  return receipt;
}

StepOutcome probe_refusal(const ReadyEffect& effect) {
  return failure("CIRCUIT_OPEN", "the circuit breaker of '" + effect.breaker +
                                     "' lets one attempt through at a time");
}

}  // namespace pawl
