// misbehaver: breaks the rule that it is told to break.
//
// state   nat: the number of steps that went well
// event   {mode: text, n: nat}, more members do not matter
//         ok            nothing is wrong
//         effects       emits n effects test.note {n: nat}
//         undeclared    emits an effect of the kind test.undeclared
//         slot          emits test.note by the slot "unknown"
//         params        emits test.note with params that do not fit
//         effect_key    emits test.note with a key of n bytes
//         events        emits n events test/Note@1 {n: nat}
//         event_schema  emits an event of a schema that there is not
//         event_value   emits test/Note@1 with a value that does not fit
//         ann           an annotation of n bytes
//         state         a state that is a text
//         empty_state   a state of no bytes
//         cbor          an output that is not CBOR
//         float         an output with a floating-point number in it
//         member        an output with a member that the contract does not have
//         no_state      an output without the member that it must have
//         raw           an output of n bytes in all
//         pointer       an output that lies outside the memory
//         loop          without end
//         recursion     without end
//         trap          an instruction that traps
//         bounds        reads outside the memory
//         memory        takes memory until there is no more, and keeps the number of its pages as
//         the state end           drops its state fail          says that it failed
// effects test.note, if declared
#include "pawl_module.h"

using namespace pawl_module;

namespace {

Writer note(uint64_t n) { return Writer().map(1).text("n").nat(n); }

// Of n bytes, as one byte string.
View large(uint64_t n) {
  return {static_cast<const char*>(memory::need(static_cast<size_t>(n))), static_cast<size_t>(n)};
}

volatile uint64_t sink = 0;

__attribute__((noinline)) uint64_t down(uint64_t depth) {
  sink = depth;
  return depth + (sink > 0 ? down(depth + 1) : 0) + sink;
}

bool emit(Step& step, View mode, uint64_t n) {
  if (mode == "effects") {
    for (uint64_t i = 0; i < n; ++i) step.emit_effect("test.note", note(i));
  } else if (mode == "undeclared") {
    step.emit_effect("test.undeclared", note(n));
  } else if (mode == "slot") {
    step.emit_effect("test.note", note(n), "unknown");
  } else if (mode == "params") {
    step.emit_effect("test.note", Writer().text("no record"));
  } else if (mode == "effect_key") {
    step.emit_effect("test.note", note(n), View(), large(n));
  } else if (mode == "events") {
    for (uint64_t i = 0; i < n; ++i) step.emit_event("test/Note@1", note(i));
  } else if (mode == "event_schema") {
    step.emit_event("test/Unknown@1", note(n));
  } else if (mode == "event_value") {
    step.emit_event("test/Note@1", Writer().text("no record"));
  } else {
    return false;
  }
  return true;
}

bool run_wild(Step& step, View mode) {
  if (mode == "loop") {
    while (true) sink = sink + 1;
  } else if (mode == "recursion") {
    sink = down(1);
  } else if (mode == "trap") {
    trap();
  } else if (mode == "bounds") {
    sink = *reinterpret_cast<volatile uint64_t*>(0xfffffff0);
  } else if (mode == "memory") {
    while (memory::take(memory::kPage) != nullptr) continue;
    step.set_state(Writer().nat(__builtin_wasm_memory_size(0)));
  } else {
    return false;
  }
  return true;
}

void speak(Step& step, View mode, uint64_t n) {
  if (mode == "ann") step.annotate(Writer().bytes(large(n)));
  if (mode == "state") step.set_state(Writer().text("no nat"));
  if (mode == "empty_state") step.set_state(View("", 0));
  if (mode == "end") step.drop_state();
  if (mode == "fail") step.fail("it was told to");
}

// Outputs that no Step gives.
View raw_output(View mode, uint64_t n) {
  if (mode == "cbor") return View("\xff\xff", 2);
  if (mode == "float") return View("\xa1\x65state\xfb\0\0\0\0\0\0\0\0", 16);
  if (mode == "member")
    return Writer().map(2).text("state").bytes(Writer().nat(1)).text("extra").nat(1);
  if (mode == "no_state") return Writer().map(1).text("effects").array(0);
  if (mode == "raw") return large(n);
  if (mode == "pointer") return {reinterpret_cast<const char*>(0xfffffff0), 100};
  return {};
}

}  // namespace

PAWL_MODULE_ALLOC()

PAWL_MODULE_EXPORT("step") uint64_t misbehave(const char* data, size_t size) {
  Step step(View(data, size));
  const View mode = step.event()["mode"].text();
  const uint64_t n = step.event()["n"].nat();
  step.set_state(Writer().nat((step.has_state() ? step.state().nat() : 0) + 1));
  if (const View raw = raw_output(mode, n); raw.data != nullptr) return packed(raw);
  if (!emit(step, mode, n) && !run_wild(step, mode)) speak(step, mode, n);
  return packed(step.output());
}
