// What a run asks of the outside, made ready from the state of the batch that asks for it. The
// server and rehearsals prepare effects here, so that a rehearsal sees what a server would do:
// parameters filled in, secrets opened, the circuit breaker asked, one form of idempotency key, and
// receipts without the secrets.
//
// prepare_effect() on the engine thread; the rest is pure, any thread.
#pragma once

#include <optional>
#include <string>

#include "actions/action.h"
#include "kernel/meter.h"
#include "kernel/scripts/commands.h"

namespace pawl {

struct ReadyEffect {
  bool cancel = false;     // end what was begun for it
  EffectRequest request;   // of one that is cancelled or refused only the run and the effect
  std::string breaker;     // its name, without secrets: it is stored and shown; "" = none
  bool probe = false;      // the breaker was open: one attempt at a time may try
  std::optional<StepOutcome> refusal;  // known before anything was tried
};

// Nothing if nobody waits for it any more.
std::optional<ReadyEffect> prepare_effect(const State& state, const EffectNote& note,
                                          const SecretSource& secrets, int64_t now_ms,
                                          Meter& meter);

// Takes the parameters and the scope out of the request.
actions::ActionRequest action_request(EffectRequest& request, std::string work_directory);

// What the step learns of it: without the secrets, and counted for its breaker.
StepOutcome receipt_of(const ReadyEffect& effect, const actions::ActionOutcome& done);

// The answer to a probe while another one is under way.
StepOutcome probe_refusal(const ReadyEffect& effect);

}  // namespace pawl
