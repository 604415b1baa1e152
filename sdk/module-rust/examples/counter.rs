//! Adds up what it is sent: the module of examples/worlds/counter.
#![no_std]

use pawl_module::{record, workflow, Step};

fn counter(step: &mut Step) {
    let count = step.state().get("count").nat_or(0);
    let by = step.event().get("by").nat();
    step.set_state(record(&[("count", &(count + by))]));
    step.complete();
}
workflow!(counter);
