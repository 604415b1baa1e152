// order_workflow: charges an order once, and ends as the payment does.
//
// state   {order_id: text, pc: variant {AwaitingCharge, Done, Failed: unit}}
// event   variant; arms of any name with
//         com.acme/OrderEvent@1 {order_id: text, amount_cents: nat}
//         sys/EffectReceiptEnvelope@1
// effects payment.charge {order_id: text, amount_cents: nat}, by the slot "payments"
#include "pawl_module.h"

using namespace pawl_module;

static void set_state(Step& step, View order_id, View pc) {
  step.set_state(Writer().map(2).text("order_id").text(order_id).text("pc").unit_arm(pc));
}

static void transition(Step& step) {
  const Value event = step.event().arm();
  const bool is_order = event["order_id"].exists();
  if (!step.has_state()) {
    if (!is_order) return;
    set_state(step, event["order_id"].text(), "AwaitingCharge");
    Writer params;
    params.map(2).text("order_id").text(event["order_id"].text());
    params.text("amount_cents").nat(event["amount_cents"].nat());
    step.emit_effect("payment.charge", params, "payments");
    return;
  }
  // A second order, or a receipt after the end, changes nothing.
  if (is_order || step.state()["pc"].tag() != "AwaitingCharge") return;
  const View order_id = step.state()["order_id"].text();
  if (event["status"].text() == "ok") {
    set_state(step, order_id, "Done");
    step.complete();
  } else {
    set_state(step, order_id, "Failed");
    step.fail("the payment failed");
  }
}

PAWL_MODULE_STEP(transition)
