//! Counts visits, one instance for each visitor.
#![no_std]

mod types;

use pawl_module::{encode, workflow, Read, Step};
use types::Visits;

fn visits(step: &mut Step) {
    let mut state = Visits::read(step.state());
    state.count += 1;
    state.last = Some(step.now_ns());
    step.set_state(encode(&state));
    step.complete(); // until the next visit
}
workflow!(visits);
