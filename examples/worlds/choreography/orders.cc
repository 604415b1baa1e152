// Places an order, and notes when it was shipped.
#include "pawl_module.h"

using namespace pawl;

void orders(Step& step) {
  if (step.tag() == "Checkout") {
    if (step.state()) return;  // placed before
    step.set_state(record("stage", variant("Placed")));
    step.publish("shop/OrderPlaced@1", step.value().encoded());  // the same fields
  } else {
    step.set_state(record("stage", variant("Shipped", step.value()["parcels"])));
    step.complete();
  }
}
PAWL_WORKFLOW(orders)
