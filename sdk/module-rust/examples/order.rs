//! An order: charge it, then it is done; or it failed, and the state says why. The module of examples/worlds/order.
#![no_std]

use pawl_module::{
    format, hash_bytes, record, unit_variant, workflow, EffectOptions, Encoded, Receipt, Step, String, Value,
};

struct Order {
    pc: String, // "" = there is none yet
    order_id: String,
    amount_cents: u64,
    charge_id: Option<String>,
    problem: Option<String>,
}

impl Order {
    fn read(state: Value) -> Self {
        let text = |value: Value| value.some().map(|one| String::from(one.text()));
        Order {
            pc: state.get("pc").some().map(|pc| pc.tag().into()).unwrap_or_default(),
            order_id: state.get("order_id").text_or("").into(),
            amount_cents: state.get("amount_cents").nat_or(0),
            charge_id: text(state.get("charge_id")),
            problem: text(state.get("problem")),
        }
    }

    fn encoded(&self) -> Encoded {
        record(&[
            ("pc", &unit_variant(&self.pc)),
            ("order_id", &self.order_id),
            ("amount_cents", &self.amount_cents),
            ("charge_id", &self.charge_id),
            ("problem", &self.problem),
        ])
    }

    fn fail(&mut self, step: &mut Step, problem: String) {
        self.pc = "Failed".into();
        self.problem = Some(problem);
        step.complete();
    }
}

fn ask_for_charge(step: &mut Step, order: &mut Order) {
    let event = step.value();
    order.pc = "AwaitingCharge".into();
    order.order_id = event.get("order_id").text().into();
    order.amount_cents = event.get("amount_cents").nat();
    // The adapter passes the key on, so that the bank makes one charge, however often it is asked.
    let key = hash_bytes(step.event_hash());
    let params = record(&[("order_id", &order.order_id), ("amount_cents", &order.amount_cents)]);
    let options = EffectOptions { slot: Some("payments"), idempotency_key: Some(&key) };
    step.effect("payment.charge", params, options);
}

fn take_receipt(step: &mut Step, order: &mut Order) {
    let receipt = Receipt(step.value());
    match receipt.status() {
        "ok" => {
            order.pc = "Done".into();
            order.charge_id = Some(receipt.payload().get("charge_id").text().into());
            step.complete();
        }
        "timeout" => order.fail(step, "the bank did not answer".into()),
        _ => {
            let code = receipt.payload().get("code").text();
            order.fail(step, format!("the bank refused: {code}"));
        }
    }
}

fn order_workflow(step: &mut Step) {
    let mut order = Order::read(step.state());
    match (order.pc.as_str(), step.tag()) {
        ("", "Order") => ask_for_charge(step, &mut order),
        ("AwaitingCharge", "Receipt") => take_receipt(step, &mut order),
        ("AwaitingCharge", "Rejected") => order.fail(step, "the bank's answer was not understood".into()),
        ("AwaitingCharge", "Denied") => {
            let code = step.value().get("code").text();
            order.fail(step, format!("not allowed: {code}"));
        }
        ("AwaitingCharge", _) => {}
        _ => step.complete(), // a second order of the same id changes nothing
    }
    step.set_state(order.encoded());
}
workflow!(order_workflow);
