// counter: adds up.
//
// state   nat
// event   nat, or a record with `by: nat`, or a variant with one of them in an arm
#include "pawl_module.h"

using namespace pawl_module;

static uint64_t amount(Value event) {
  if (event.is_map() && event["$tag"].exists()) event = event.arm();
  return event.is_map() ? event["by"].nat() : event.nat();
}

static void count(Step& step) {
  step.set_state(Writer().nat((step.has_state() ? step.state().nat() : 0) + amount(step.event())));
}

PAWL_MODULE_STEP(count)
