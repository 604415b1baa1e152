// Prepares the effects of runs from the state of the requesting batch. The server and rehearsals
// share this code, so that a rehearsal behaves like a server: parameters filled in, secrets opened,
// the circuit breaker checked, one form of idempotency key, and receipts with masked secrets.
//
// prepare_effect() on the engine thread; the rest is pure, any thread.
#pragma once

#include <optional>
#include <string>

#include "actions/action.h"
#include "kernel/scripts/effect_request.h"

namespace pawl {

class Meter;
class SecretSource;
class State;
struct EffectNote;

struct ReadyEffect {
  bool cancel = false;    // end the running effect
  EffectRequest request;  // for a cancelled or refused effect only run and effect are set
  std::string breaker;    // its name with masked secrets, since it is stored and shown; "" = none
  bool probe = false;     // the breaker was open: one attempt at a time may try
  std::optional<StepOutcome> refusal;  // known before anything was tried
};

// Nothing if no step waits for it any more.
std::optional<ReadyEffect> prepare_effect(const State& state, const EffectNote& note,
                                          const SecretSource& secrets, int64_t now_ms,
                                          Meter& meter);

// Takes the parameters and the names out of the request.
actions::ActionRequest action_request(EffectRequest& request, std::string work_directory);

// The outcome for the step: secrets masked, and counted for its breaker.
StepOutcome receipt_of(const ReadyEffect& effect, const actions::ActionOutcome& done);

// The answer to a probe while another probe is running.
StepOutcome probe_refusal(const ReadyEffect& effect);

}  // namespace pawl
