// Judges a charge by its grant: no more than max_cents. A pure module: it knows only what it is given.
#include "pawl_module.h"

using namespace pawl;

void payment_limit(Pure& call) {
  const uint64_t max_cents = Value(call.input()["cap_params"].bytes())["max_cents"].nat();
  const uint64_t cents = Value(call.input()["effect_params"].bytes())["amount_cents"].nat();
  const bool within = cents <= max_cents;
  const Encoded deny =
      within ? encode(nullptr)
             : record("code", "too_much", "message", concat("at most ", max_cents, " cents"));
  call.set_output(record("constraints_ok", within, "deny", deny));
}
PAWL_PURE(payment_limit)
