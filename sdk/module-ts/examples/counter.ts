// Adds up what it is sent: the module of examples/worlds/counter.
import { Record, runStep, Step } from "../assembly/index";
export { alloc } from "../assembly/index";

function counter(step: Step): void {
  const count = step.state.get("count").natOr(0);
  step.setState(new Record().nat("count", count + step.event.get("by").nat()).done());
  step.complete();
}

export function step(input: usize, size: i32): u64 {
  return runStep(input, size, counter);
}
