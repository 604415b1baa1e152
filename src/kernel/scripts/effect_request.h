// The request of a step's effect, and its outcome. src/actions/ and src/effects/ get these in place
// of the state.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/uuid.h"
#include "base/value.h"
#include "expr/template/secret.h"
#include "journal/script_events.h"

namespace pawl {

// An effect to start or cancel once its frame is durable.
struct EffectNote {
  RunId run;
  uint32_t effect = 0;
  bool cancel = false;
  bool heavy = false;  // its parameters turned out to be large, and must wait for others to end
};

// Gone: nobody waits for it, or its child is there.
enum class EffectKind : uint8_t { Gone, Action, Job, Composition };
struct EffectRequest {
  EffectKind kind = EffectKind::Gone;
  RunId run;
  uint32_t effect = 0;
  std::string step;
  uint32_t attempt = 0;
  uint32_t round = 0;  // above 0: the step runs again, with attempts counted from 1
  std::string action;
  Value params;
  Value names;  // for actions that evaluate expressions themselves
  std::vector<expr::Secret> secrets;
  int64_t timeout_ms = 0;
};

struct StepOutcome {
  bool ok = false;
  std::string output;  // JSON
  StepError error;
  bool retryable = false;
  std::string breaker;  // breaker that the attempt counts for; "" = none
  bool judged = false;  // the number of values in the output was already checked
};

// The same key each time an attempt is requested, another one for every other attempt: a service
// that remembers its answers must not answer a retried run with the failure of an earlier attempt.
std::string idempotency_key(const EffectRequest& request);
// SECRET_DENIED if a secret stands where it may not, else INTERPOLATION_ERROR.
std::string refusal_code(const Error& error);

}  // namespace pawl
