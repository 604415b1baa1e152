// cap_enforcer: a pure module that enforces a capability: an effect may not charge more than its
// grant says.
//
// input   sys/CapCheckInput@1, with cap_params {max_cents: nat} and effect_params {amount_cents:
// nat}, either with more output  sys/CapCheckOutput@1
#include "pawl_module.h"

using namespace pawl_module;

static void check(Run& run) {
  const Value input = run.input();
  const uint64_t max = Value(input["cap_params"].bytes())["max_cents"].nat();
  const uint64_t amount = Value(input["effect_params"].bytes())["amount_cents"].nat();
  Writer out;
  out.map(2).text("constraints_ok").boolean(amount <= max).text("deny");
  if (amount <= max) return run.set_output(out.null());
  run.set_output(out.map(2)
                     .text("code")
                     .text("over_limit")
                     .text("message")
                     .text("more than the grant allows"));
}

PAWL_MODULE_RUN(check)
