// An order: charge it, then it is done; or it failed, and the state says why.
#include "pawl_module.h"

using namespace pawl;

namespace {

struct Order {
  Text pc;  // "" = there is none yet
  Text order_id;
  uint64_t amount_cents = 0;
  Encoded charge_id = encode(nullptr), problem = encode(nullptr);

  Encoded encoded() const {
    return record("pc", variant(pc), "order_id", order_id, "amount_cents", amount_cents, "charge_id",
                  charge_id, "problem", problem);
  }
};

Order read_order(const Value& state) {
  Order order;
  if (!state) return order;
  order.pc = state["pc"].tag();
  order.order_id = state["order_id"].text();
  order.amount_cents = state["amount_cents"].nat();
  order.charge_id = state["charge_id"].encoded();
  order.problem = state["problem"].encoded();
  return order;
}

void ask_for_charge(Step& step, Order& order, const Value& event) {
  order.pc = "AwaitingCharge";
  order.order_id = event["order_id"].text();
  order.amount_cents = event["amount_cents"].nat();
  // The adapter passes the key on, so that the bank makes one charge, however often it is asked.
  step.effect("payment.charge",
              record("order_id", order.order_id, "amount_cents", order.amount_cents),
              {.slot = "payments", .idempotency_key = hash_bytes(step.event_hash())});
}

void fail(Step& step, Order& order, const Text& problem) {
  order.pc = "Failed";
  order.problem = encode(problem);
  step.complete();
}

void take_receipt(Step& step, Order& order, const Receipt& receipt) {
  if (receipt.ok()) {
    order.pc = "Done";
    order.charge_id = encode(receipt.payload()["charge_id"].text());
    step.complete();
  } else if (receipt.status() == "timeout") {
    fail(step, order, "the bank did not answer");
  } else {
    fail(step, order, concat("the bank refused: ", receipt.payload()["code"].text()));
  }
}

}  // namespace

void order_workflow(Step& step) {
  Order order = read_order(step.state());
  const bool waits = order.pc == "AwaitingCharge";
  if (order.pc.empty() && step.tag() == "Order")
    ask_for_charge(step, order, step.value());
  else if (waits && step.tag() == "Receipt")
    take_receipt(step, order, Receipt(step.value()));
  else if (waits && step.tag() == "Rejected")
    fail(step, order, "the bank's answer was not understood");
  else if (waits && step.tag() == "Denied")
    fail(step, order, concat("not allowed: ", step.value()["code"].text()));
  else if (!waits)
    step.complete();  // a second order of the same id changes nothing
  step.set_state(order.encoded());
}
PAWL_WORKFLOW(order_workflow)
