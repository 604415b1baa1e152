// echo: keeps what it was last given, to compare it with the journal.
//
// state   {count: nat, schema: text, value: bytes, key: option bytes, ctx: option bytes}
// event   any; value is its bytes as they came, a receipt's envelope in its arm too
// context as declared
// effects none
#include "pawl_module.h"

using namespace pawl_module;

static void echo(Step& step) {
  const uint64_t count = step.has_state() ? step.state()["count"].nat() : 0;
  const Context context = step.context();
  step.set_state(Writer()
                     .map(5)
                     .text("count")
                     .nat(count + 1)
                     .text("schema")
                     .text(step.event_schema())
                     .text("value")
                     .bytes(step.event_bytes())
                     .text("key")
                     .option_bytes(step.key_bytes(), step.has_key())
                     .text("ctx")
                     .option_bytes(context.encoded(), context.exists()));
}

PAWL_MODULE_STEP(echo)
