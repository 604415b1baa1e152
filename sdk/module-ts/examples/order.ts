// An order: charge it, then it is done; or it failed, and the state says why. The module of examples/worlds/order.
import { Encoded, hashBytes, Receipt, Record, runStep, Step, Value } from "../assembly/index";
export { alloc } from "../assembly/index";

class Order {
  pc: string = ""; // "" = there is none yet
  orderId: string = "";
  amountCents: u64 = 0;
  chargeId: Encoded = Encoded.nothing();
  problem: Encoded = Encoded.nothing();

  constructor(state: Value) {
    if (!state.isNull) {
      this.pc = state.get("pc").tag;
      this.orderId = state.get("order_id").text();
      this.amountCents = state.get("amount_cents").nat();
      this.chargeId = state.get("charge_id").encoded();
      this.problem = state.get("problem").encoded();
    }
  }

  encoded(): Encoded {
    return new Record()
      .put("pc", Encoded.variant(this.pc))
      .text("order_id", this.orderId)
      .nat("amount_cents", this.amountCents)
      .put("charge_id", this.chargeId)
      .put("problem", this.problem)
      .done();
  }

  fail(step: Step, problem: string): void {
    this.pc = "Failed";
    this.problem = Encoded.text(problem);
    step.complete();
  }
}

function askForCharge(step: Step, order: Order): void {
  order.pc = "AwaitingCharge";
  order.orderId = step.value.get("order_id").text();
  order.amountCents = step.value.get("amount_cents").nat();
  const params = new Record().text("order_id", order.orderId).nat("amount_cents", order.amountCents);
  // The adapter passes the key on, so that the bank makes one charge, however often it is asked.
  step.effect("payment.charge", params.done(), "payments", hashBytes(step.eventHash));
}

function takeReceipt(step: Step, order: Order, receipt: Receipt): void {
  if (receipt.ok) {
    order.pc = "Done";
    order.chargeId = Encoded.text(receipt.payload.get("charge_id").text());
    step.complete();
  } else if (receipt.status == "timeout") {
    order.fail(step, "the bank did not answer");
  } else {
    order.fail(step, "the bank refused: " + receipt.payload.get("code").text());
  }
}

function orderWorkflow(step: Step): void {
  const order = new Order(step.state);
  const waits = order.pc == "AwaitingCharge";
  if (order.pc == "" && step.tag == "Order") askForCharge(step, order);
  else if (waits && step.tag == "Receipt") takeReceipt(step, order, new Receipt(step.value));
  else if (waits && step.tag == "Rejected") order.fail(step, "the bank's answer was not understood");
  else if (waits && step.tag == "Denied") order.fail(step, "not allowed: " + step.value.get("code").text());
  else if (!waits) step.complete(); // a second order of the same id changes nothing
  step.setState(order.encoded());
}

export function step(input: usize, size: i32): u64 {
  return runStep(input, size, orderWorkflow);
}
