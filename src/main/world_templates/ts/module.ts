// Counts visits, one instance for each visitor.
import { runStep, Step } from "./pawl_module";
import { encode_Visits, read_Visits } from "./types";
export { alloc } from "./pawl_module";

function visits(step: Step): void {
  const state = read_Visits(step.state);
  ++state.count;
  state.last.some = true;
  state.last.value = step.nowNs;
  step.setState(encode_Visits(state));
  step.complete(); // until the next visit
}

export function step(input: usize, size: i32): u64 {
  return runStep(input, size, visits);
}
