// Modules of Pawl worlds in TypeScript: AssemblyScript, compiled by
//
//   asc counter.ts -o counter.wasm --runtime stub --use abort= --optimizeLevel 2 --noAssert
//
// A workflow is a function over a Step, a pure module one over a Pure. A module exports alloc, and step or run:
//
//   import { alloc, Encoded, Record, runStep, Step } from "pawl-module/assembly";
//   export { alloc };
//   function counter(step: Step): void {
//     const count = step.state.get("count").natOr(0);
//     step.setState(new Record().nat("count", count + step.event.get("by").nat()).done());
//     step.complete(); // until the next event
//   }
//   export function step(input: usize, size: i32): u64 { return runStep(input, size, counter); }
//
// Values are CBOR as docs/reference/module-abi.md has it. Value reads them; Encoded is one that was written. What a
// module was given fits its schemas, so a value that is read as something else is a mistake of the module: it traps, the
// step fails with step.trap, and nothing of it is kept. A field that is not there is null; *Or() gives a fallback.
//
// Every call has a fresh memory, so nothing is ever freed (the stub runtime), and globals do not last. There is no clock
// and no random but those of the context. Do not use f32, f64 or number: values cannot have them.

import { Bytes, Encoded, List, Record, Value } from "./pawl_values";
export * from "./pawl_values";

export function alloc(size: usize): usize {
  return heap.alloc(size > 0 ? size : 1);
}

export const SECOND: u64 = 1_000_000_000;

// --- a step

export class Step {
  readonly state: Value; // null: there is none yet
  readonly event: Value; // of abi.event
  readonly key: Value; // of the instance; null if the module is not keyed
  private ctx: Value;
  private output_: Bytes | null = null;
  private effects: List = new List();
  private events: List = new List();
  private annotations: Bytes | null = null;
  private status: string = "";
  private error: string = "";

  constructor(input: Value) {
    const state = input.get("state");
    const event = input.get("event");
    const key = event.get("key");
    const ctx = input.get("ctx");
    this.state = state.isNull ? Value.none() : Value.of(state.bytes());
    this.event = Value.of(event.get("value").bytes());
    this.key = key.isNull ? Value.none() : Value.of(key.bytes());
    this.ctx = ctx.isNull ? Value.none() : Value.of(ctx.bytes());
    if (!state.isNull) this.output_ = state.bytes();
  }

  /** The event's arm, if abi.event is a variant: its tag, and what is in it. */
  get tag(): string {
    return this.event.tag;
  }
  get value(): Value {
    return this.event.arm;
  }

  /** If abi.context is sys/WorkflowContext@1; the same in every replay. */
  get context(): Value {
    if (this.ctx.isNull) unreachable();
    return this.ctx;
  }
  get nowNs(): u64 {
    return this.context.get("now_ns").nat();
  }
  /** Never goes back. */
  get logicalNowNs(): u64 {
    return this.context.get("logical_now_ns").nat();
  }
  get height(): u64 {
    return this.context.get("journal_height").nat();
  }
  get entropy(): Bytes {
    return this.context.get("entropy").bytes();
  }
  get eventHash(): string {
    return this.context.get("event_hash").text();
  }

  /** Without it the state stays as it is. */
  setState(state: Encoded): void {
    this.output_ = state.bytes;
  }
  /** The instance is completed, and its cell gone. */
  clearState(): void {
    this.output_ = null;
  }
  complete(): void {
    this.status = "completed";
  }
  fail(error: string): void {
    this.status = "failed";
    this.error = error;
  }
  /** `slot`: of cap_slots. `idempotencyKey`: 32 bytes that the adapter passes on. */
  effect(kind: string, params: Encoded, slot: string = "", idempotencyKey: Bytes | null = null): void {
    const made = new Record().text("kind", kind).bytes("params_cbor", params.bytes);
    if (slot.length > 0) made.text("cap_slot", slot);
    if (idempotencyKey !== null) made.bytes("idempotency_key", idempotencyKey);
    this.effects.add(made.done());
  }
  /** Its receipt comes at this time, on the logical clock. */
  timer(deliverAtNs: u64): void {
    this.effect("timer.set", new Record().nat("deliver_at_ns", deliverAtNs).nothing("key").done());
  }
  /** A domain event, for whoever subscribes to its schema. */
  publish(schema: string, value: Encoded, key: Encoded | null = null): void {
    const made = new Record().text("schema", schema).bytes("value", value.bytes);
    if (key !== null) made.bytes("key", key.bytes);
    this.events.add(made.done());
  }
  annotate(annotations: Encoded): void {
    this.annotations = annotations.bytes;
  }

  output(): Bytes {
    const out = new Record();
    const state = this.output_;
    if (state === null) out.nothing("state");
    else out.bytes("state", state);
    out.put("effects", this.effects.done()).put("domain_events", this.events.done());
    const annotations = this.annotations;
    if (annotations !== null) out.bytes("ann", annotations);
    if (this.status.length > 0) out.text("status", this.status);
    if (this.error.length > 0) out.text("error", this.error);
    return out.done().bytes;
  }
}

/** A receipt, as sys/EffectReceiptEnvelope@1 brings it: new Receipt(step.value). */
export class Receipt {
  constructor(private envelope: Value) {}

  /** ok, error or timeout. */
  get status(): string {
    return this.envelope.get("status").text();
  }
  get ok(): bool {
    return this.status == "ok";
  }
  get kind(): string {
    return this.envelope.get("effect_kind").text();
  }
  get intent(): string {
    return this.envelope.get("intent_id").text();
  }
  /** ok: of the effect's receipt_schema; else that, or sys/EffectError@1 {code, message}. */
  get payload(): Value {
    return Value.of(this.envelope.get("receipt_payload").bytes());
  }
}

export class Pure {
  readonly input: Value;
  private output_: Bytes = new Bytes(0, 0);

  constructor(private call: Value) {
    this.input = Value.of(call.get("input").bytes());
  }
  /** If abi.context is sys/PureContext@1. */
  get context(): Value {
    return Value.of(this.call.get("ctx").bytes());
  }
  setOutput(output: Encoded): void {
    this.output_ = output.bytes;
  }
  output(): Bytes {
    return new Record().bytes("output", this.output_).done().bytes;
  }
}

function packed(output: Bytes): u64 {
  return ((<u64>output.at) << 32) | <u64>output.size;
}

export function runStep(input: usize, size: i32, workflow: (step: Step) => void): u64 {
  const step = new Step(new Value(input, input + size));
  workflow(step);
  return packed(step.output());
}

export function runPure(input: usize, size: i32, pure: (call: Pure) => void): u64 {
  const call = new Pure(new Value(input, input + size));
  pure(call);
  return packed(call.output());
}
