// Packs what was ordered, three items to a parcel.
#include "pawl_module.h"

using namespace pawl;

void shipping(Step& step) {
  constexpr uint64_t kItemsPerParcel = 3;
  const Value items = step.event()["items"];
  step.set_state(record("packed", items));
  step.publish("shop/Shipped@1",
               record("order_id", step.event()["order_id"], "parcels",
                      (items.size() + kItemsPerParcel - 1) / kItemsPerParcel));
  step.complete();
}
PAWL_WORKFLOW(shipping)
