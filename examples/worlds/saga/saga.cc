// Books the parts of a trip one after the other; if one fails, cancels those before it, the last one first.
#include "pawl_module.h"

using namespace pawl;

namespace {

constexpr const char* kParts[] = {"flight", "hotel", "car"};
constexpr size_t kPartCount = sizeof kParts / sizeof kParts[0];

struct Saga {
  Text id, pc;
  size_t booked = 0;  // parts are booked in their order, so their number says which
};

void act(Step& step, const Saga& saga, const Text& kind, size_t part) {
  step.effect(kind, record("trip", saga.id, "part", kParts[part]));
}

void end(Step& step, Saga& saga, const Text& pc) {
  saga.pc = pc;
  step.complete();
}

void cancel_next(Step& step, Saga& saga) {
  saga.pc = "Cancelling";
  if (saga.booked == 0) return end(step, saga, "Cancelled");
  act(step, saga, "trip.cancel", saga.booked - 1);
}

void go_on(Step& step, Saga& saga, bool ok) {
  if (saga.pc == "Booking") {
    if (!ok) return cancel_next(step, saga);
    if (++saga.booked == kPartCount) return end(step, saga, "Booked");
    return act(step, saga, "trip.book", saga.booked);
  }
  if (!ok) return end(step, saga, "Stuck");  // a person must look at it: `booked` says what is left
  --saga.booked;
  cancel_next(step, saga);
}

}  // namespace

void trip_saga(Step& step) {
  Saga saga;
  if (const Value state = step.state())
    saga = {state["id"].text(), state["pc"].tag(), static_cast<size_t>(state["booked"].size())};
  if (step.tag() != "Book") {
    go_on(step, saga, step.tag() == "Receipt" && Receipt(step.value()).ok());
  } else if (saga.pc.empty()) {
    saga.id = step.value()["id"].text();
    saga.pc = "Booking";
    act(step, saga, "trip.book", 0);
  }
  List booked;
  for (size_t i = 0; i < saga.booked; ++i) booked.add(kParts[i]);
  step.set_state(record("id", saga.id, "pc", variant(saga.pc), "booked", booked.done()));
}
PAWL_WORKFLOW(trip_saga)
