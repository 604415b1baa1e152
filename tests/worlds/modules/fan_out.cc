// fan_out: gives each item of an event an event of its own, and is done.
//
// state   nat: how many it gave
// event   {id: text, items: list text}
// events  test/Item@1 {id: text, item: text}
#include "pawl_module.h"

using namespace pawl_module;

static void fan_out(Step& step) {
  const Value order = step.event();
  const Value items = order["items"];
  for (size_t i = 0; i < items.size(); ++i) {
    step.emit_event("test/Item@1", Writer()
                                       .map(2)
                                       .text("id")
                                       .text(order["id"].text())
                                       .text("item")
                                       .text(items.item(i).text()));
  }
  step.set_state(Writer().nat((step.has_state() ? step.state().nat() : 0) + items.size()));
  step.complete();
}

PAWL_MODULE_STEP(fan_out)
