// Modules of Pawl worlds in C++: headers only, no library, for clang (14 or later) and wasm-ld.
//
//   clang++ --target=wasm32 -std=c++20 -O2 -ffreestanding -fno-exceptions -fno-rtti -nostdlib \
//     -I sdk/module-cpp -Wl,--no-entry -Wl,--strip-all -Wl,-z,stack-size=65536 counter.cc -o counter.wasm
//
// A workflow is a function over a Step, made a module by PAWL_WORKFLOW; a pure module is a function over a
// Pure, made one by PAWL_PURE. A module has one of them, and is one source file.
//
//   void counter(pawl::Step& step) {
//     uint64_t count = step.state()["count"].nat_or(0);
//     step.set_state(pawl::record("count", count + step.event()["by"].nat()));
//     step.complete();  // until the next event
//   }
//   PAWL_WORKFLOW(counter)
//
// Values are CBOR as docs/reference/module-abi.md has it. Value reads them where they lie; Encoded is one that
// was written. What a module was given fits its schemas, so a Value that is read as something else is a mistake
// of the module: it traps, the step fails with step.trap, and nothing of it is kept. A field that is not there,
// and one of a null, is null; *_or() gives a fallback for it.
//
// Every call has a fresh memory, so nothing is ever freed, and globals do not last. There is no clock and no
// random but those of the context. Do not use float or double: values cannot have them.
#pragma once

#include "pawl_values.h"

namespace pawl {

// --- a step

constexpr uint64_t kMillisecond = 1'000'000, kSecond = 1'000 * kMillisecond, kMinute = 60 * kSecond,
                   kHour = 60 * kMinute;

struct EffectOptions {
  Text slot = {};              // of cap_slots; "" = the one called "default"
  Bytes idempotency_key = {};  // 32 bytes; none: the server makes one of where the effect was emitted
};

class Step {
 public:
  explicit Step(const Value& input) : input_(input), event_(input["event"]) {
    const Value state = input["state"];
    if (state) given_ = state.bytes();
    if (const Value ctx = input["ctx"]) ctx_ = Value(ctx.bytes());
    state_ = given_;
  }

  // --- what the step is given
  Value state() const { return given_.empty() ? Value() : Value(given_); }  // null: there is none yet
  Value event() const { return Value(event_["value"].bytes()); }  // of abi.event
  // The event's arm, if abi.event is a variant: its tag, and what is in it.
  Text tag() const { return event().tag(); }
  Value value() const { return event().arm(); }
  Text schema() const { return event_["schema"].text(); }  // abi.event
  Value key() const {  // of the instance; null if the module is not keyed
    const Value key = event_["key"];
    return key ? Value(key.bytes()) : Value();
  }

  // --- where and when, if abi.context is sys/WorkflowContext@1; the same in every replay
  uint64_t now_ns() const { return context()["now_ns"].nat(); }
  uint64_t logical_now_ns() const { return context()["logical_now_ns"].nat(); }  // never goes back
  uint64_t height() const { return context()["journal_height"].nat(); }
  Bytes entropy() const { return context()["entropy"].bytes(); }  // 64 bytes
  Text event_hash() const { return context()["event_hash"].text(); }
  Value context() const {
    if (!ctx_) trap();  // the manifest's abi.context does not ask for it
    return ctx_;
  }

  // --- what it says. Without set_state() the state stays as it is.
  void set_state(const Encoded& state) { state_ = state.bytes; }
  void clear_state() { state_ = {}; }  // the instance is completed, and its cell gone
  void complete() { status_ = "completed"; }
  void fail(const Text& error) {
    status_ = "failed";
    error_ = error;
  }
  void effect(const Text& kind, const Encoded& params, const EffectOptions& options = {}) {
    Buffer out;
    out.head(5, 2u + (options.slot.empty() ? 0 : 1) + (options.idempotency_key.empty() ? 0 : 1));
    inside::put_fields(out, "kind", kind, "params_cbor", params.bytes);
    if (!options.slot.empty()) inside::put_fields(out, "cap_slot", options.slot);
    if (!options.idempotency_key.empty())
      inside::put_fields(out, "idempotency_key", options.idempotency_key);
    effects_.add(Encoded{out.view()});
  }
  // A timer: its receipt comes at this time, on the logical clock.
  void timer(uint64_t deliver_at_ns) {
    effect("timer.set", record("deliver_at_ns", deliver_at_ns, "key", nullptr));
  }
  // A domain event, for whoever subscribes to its schema.
  void publish(const Text& schema, const Encoded& value) {
    events_.add(record("schema", schema, "value", value.bytes));
  }
  void publish(const Text& schema, const Encoded& value, const Encoded& key) {
    events_.add(record("schema", schema, "value", value.bytes, "key", key.bytes));
  }
  void annotate(const Encoded& annotations) { annotations_ = annotations.bytes; }

  Bytes output() const {
    Buffer out;
    out.head(5, 3u + (annotations_.empty() ? 0 : 1) + (status_.empty() ? 0 : 1) +
                    (error_.empty() ? 0 : 1));
    put(out, "state");
    if (state_.empty()) {
      put(out, nullptr);
    } else {
      put(out, state_);
    }
    inside::put_fields(out, "effects", effects_.done(), "domain_events", events_.done());
    if (!annotations_.empty()) inside::put_fields(out, "ann", annotations_);
    if (!status_.empty()) inside::put_fields(out, "status", status_);
    if (!error_.empty()) inside::put_fields(out, "error", error_);
    return out.view();
  }

 private:
  Value input_, event_, ctx_;
  Bytes given_, state_, annotations_;
  Text status_, error_;
  List effects_, events_;
};

// A receipt, as sys/EffectReceiptEnvelope@1 brings it: Receipt(step.value()).
class Receipt {
 public:
  explicit Receipt(const Value& envelope) : envelope_(envelope) {}
  Text status() const { return envelope_["status"].text(); }  // ok, error, timeout
  bool ok() const { return status() == "ok"; }
  Text kind() const { return envelope_["effect_kind"].text(); }
  Text intent() const { return envelope_["intent_id"].text(); }
  Text params_hash() const { return envelope_["params_hash"].text(); }
  // ok: of the effect's receipt_schema; else that, or sys/EffectError@1 {code, message}.
  Value payload() const { return Value(envelope_["receipt_payload"].bytes()); }

 private:
  Value envelope_;
};

class Pure {
 public:
  explicit Pure(const Value& input) : input_(input) {}
  Value input() const { return Value(input_["input"].bytes()); }
  Value context() const {  // if abi.context is sys/PureContext@1
    const Value ctx = input_["ctx"];
    if (!ctx) trap();
    return Value(ctx.bytes());
  }
  void set_output(const Encoded& output) { output_ = output.bytes; }
  Bytes output() const { return record("output", output_).bytes; }

 private:
  Value input_;
  Bytes output_;
};

inline uint64_t packed(const Bytes& output) {
  return uint64_t{reinterpret_cast<size_t>(output.data)} << 32 | output.size;
}

}  // namespace pawl

// The exports of a module: memory (by the linker), alloc, and step or run.
#define PAWL_EXPORT_(name, Call, function)                                                        \
  extern "C" __attribute__((export_name("alloc"))) void* pawl_export_alloc(size_t size) {         \
    return pawl::allocate(size);                                                                  \
  }                                                                                               \
  extern "C" __attribute__((export_name(name))) uint64_t pawl_export_entry(                       \
      const unsigned char* input, size_t size) {                                                  \
    pawl::Call call{pawl::Value(pawl::Bytes{input, size})};                                       \
    function(call);                                                                               \
    return pawl::packed(call.output());                                                           \
  }
#define PAWL_WORKFLOW(function) PAWL_EXPORT_("step", Step, function)
#define PAWL_PURE(function) PAWL_EXPORT_("run", Pure, function)
