// Write a module for Pawl in C++17, without a standard library.
//
//   #include "pawl_module.h"
//   using namespace pawl_module;
//
//   void step(Step& step) {                          // called once for each event
//     uint64_t count = step.has_state() ? step.state().nat() : 0;
//     step.set_state(Writer().nat(count + 1));
//   }
//   PAWL_MODULE_STEP(step)
//
//   clang++ --target=wasm32 -std=c++17 -O2 -ffreestanding -fno-exceptions -fno-rtti -mbulk-memory \
//     -nostdlib -Wl,--no-entry -Wl,--strip-all -I sdk/module-cpp -o counter.wasm counter.cc
//
// A step is a pure function: it sees its state, the event and the context, and says what shall be.
// There is no clock, no file and no memory from one call to the next; time, entropy and the outside
// come in, effects go out. So memory is only ever taken, and given back when the call ends. What
// cannot be, such as a member that the schema does not have, ends the step with a trap: the engine
// then drops all that it said and journals why.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace pawl_module {

// Used in many places: once in the code instead of at each.
#define PAWL_MODULE_ONCE __attribute__((noinline))

[[noreturn]] inline void trap() { __builtin_trap(); }

// --- memory

namespace memory {

constexpr size_t kPage = 65536;
extern "C" unsigned char __heap_base;  // where the linker's data ends
inline uintptr_t next = 0;

// Null if the module's limit of memory is reached.
inline void* take(size_t size) {
  if (next == 0) next = (reinterpret_cast<uintptr_t>(&__heap_base) + 7) & ~uintptr_t{7};
  const uintptr_t place = next;
  const size_t have = __builtin_wasm_memory_size(0) * kPage;
  if (size > SIZE_MAX - 7 - place) return nullptr;
  const uintptr_t end = place + ((size + 7) & ~size_t{7});
  if (end > have && __builtin_wasm_memory_grow(0, (end - have + kPage - 1) / kPage) == SIZE_MAX)
    return nullptr;
  next = end;
  return reinterpret_cast<void*>(place);
}

inline void* need(size_t size) {
  void* place = take(size);
  if (place == nullptr) trap();
  return place;
}

}  // namespace memory

// Some bytes that live somewhere else: a text or a byte string.
struct View {
  const char* data = nullptr;
  size_t size = 0;

  constexpr View() = default;
  constexpr View(const char* bytes, size_t count) : data(bytes), size(count) {}
  template <size_t size_with_nul>
  constexpr View(const char (&literal)[size_with_nul]) : data(literal), size(size_with_nul - 1) {}

  bool empty() const { return size == 0; }
  friend bool operator==(View a, View b) {
    if (a.size != b.size) return false;
    for (size_t i = 0; i < a.size; ++i) {
      if (a.data[i] != b.data[i]) return false;
    }
    return true;
  }
  friend bool operator!=(View a, View b) { return !(a == b); }
};

// --- CBOR, written

// One value. The members of a map may be written in any order, the engine sorts them; an array and
// a map are begun with how many items or members follow:
//   Writer().map(2).text("n").nat(5).text("name").text("x")
class Writer {
 public:
  Writer& nat(uint64_t value) { return head(0, value); }
  Writer& integer(int64_t value) {
    return value < 0 ? head(1, ~static_cast<uint64_t>(value))
                     : head(0, static_cast<uint64_t>(value));
  }
  Writer& bytes(View value) { return head(2, value.size).raw(value); }
  Writer& text(View value) { return head(3, value.size).raw(value); }
  Writer& array(size_t count) { return head(4, count); }
  Writer& map(size_t count) { return head(5, count); }
  Writer& boolean(bool value) { return byte(value ? 0xf5 : 0xf4); }
  Writer& null() { return byte(0xf6); }
  Writer& option_bytes(View value, bool is) { return is ? bytes(value) : null(); }
  // A value of a variant type: arm("Paid") and its value, or unit_arm("Open").
  Writer& arm(View tag) { return map(2).text("$tag").text(tag).text("$value"); }
  Writer& unit_arm(View tag) { return map(1).text("$tag").text(tag); }
  // What is encoded already.
  PAWL_MODULE_ONCE Writer& raw(View encoded) {
    room(encoded.size);
    __builtin_memcpy(data_ + size_, encoded.data, encoded.size);
    size_ += encoded.size;
    return *this;
  }

  View view() const { return {data_, size_}; }
  operator View() const { return view(); }

 private:
  Writer& byte(unsigned value) {
    room(1);
    data_[size_++] = static_cast<char>(value);
    return *this;
  }
  PAWL_MODULE_ONCE Writer& head(unsigned major, uint64_t value) {
    major <<= 5;
    if (value < 24) return byte(major | static_cast<unsigned>(value));
    const unsigned log = value <= 0xff ? 0 : value <= 0xffff ? 1 : value <= 0xffffffff ? 2 : 3;
    byte(major | (24 + log));
    for (int shift = (8 << log) - 8; shift >= 0; shift -= 8) byte((value >> shift) & 0xff);
    return *this;
  }
  PAWL_MODULE_ONCE void room(size_t more) {
    if (more <= capacity_ - size_) return;
    capacity_ = 2 * (capacity_ + more) + 64;
    char* larger = static_cast<char*>(memory::need(capacity_));
    __builtin_memcpy(larger, data_, size_);
    data_ = larger;
  }

  char* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

// --- CBOR, read

// One value inside encoded bytes. Reading it as what it is not is a trap.
class Value {
 public:
  Value() = default;
  explicit Value(View encoded) : at_(encoded.data), end_(encoded.data + encoded.size) {}

  bool exists() const { return at_ != end_; }
  bool is_null() const { return exists() && first() == 0xf6; }
  bool is_map() const { return exists() && major() == 5; }
  uint64_t nat() const { return number(0); }
  int64_t integer() const {
    return major() == 1 ? ~static_cast<int64_t>(number(1)) : static_cast<int64_t>(number(0));
  }
  bool boolean() const { return first() == 0xf5 || (first() == 0xf4 ? false : (trap(), false)); }
  View bytes() const { return string(2); }
  View text() const { return string(3); }
  size_t size() const {
    return static_cast<size_t>(number(major() == 5 ? 5 : 4));
  }  // items or members

  // Of an array.
  Value item(size_t index) const { return after(index, 4); }
  // Of a map with text keys; does not exist if there is none of that name.
  PAWL_MODULE_ONCE Value operator[](View key) const {
    Value at = after(0, 5);
    for (size_t left = size(); left > 0; --left) {
      const Value found = at.next();
      if (at.text() == key) return found;
      at = found.next();
    }
    return Value();
  }
  // Of a variant: the arm's name and value.
  View tag() const { return (*this)["$tag"].text(); }
  Value arm() const { return (*this)["$value"]; }

  // Its own bytes, without what follows.
  View encoded() const { return {at_, static_cast<size_t>(next().at_ - at_)}; }

 private:
  Value(const char* at, const char* end) : at_(at), end_(end) {}

  unsigned first() const { return exists() ? static_cast<unsigned char>(*at_) : (trap(), 0); }
  unsigned major() const { return first() >> 5; }
  // The number in the head, and where the head ends.
  PAWL_MODULE_ONCE uint64_t head(const char*& body) const {
    const unsigned low = first() & 31;
    body = at_ + 1;
    if (low < 24) return low;
    if (low > 27 || end_ - body < (1 << (low - 24))) trap();
    uint64_t value = 0;
    for (int left = 1 << (low - 24); left > 0; --left)
      value = value << 8 | static_cast<unsigned char>(*body++);
    return value;
  }
  uint64_t number(unsigned wanted) const {
    const char* body;
    return major() == wanted ? head(body) : (trap(), 0);
  }
  PAWL_MODULE_ONCE View string(unsigned wanted) const {
    const char* body;
    const uint64_t count = major() == wanted ? head(body) : (trap(), 0);
    if (count > static_cast<uint64_t>(end_ - body)) trap();
    return {body, static_cast<size_t>(count)};
  }
  PAWL_MODULE_ONCE Value after(size_t items, unsigned wanted) const {
    const char* body;
    const uint64_t count = major() == wanted ? head(body) : (trap(), 0);
    if (items > count) trap();
    Value at(body, end_);
    while (items-- > 0) at = at.next();
    return at;
  }
  // What stands behind it. The engine gives no value deeper than 64.
  PAWL_MODULE_ONCE Value next() const {
    const char* body;
    uint64_t inside = head(body);
    switch (major()) {
      case 2:
      case 3: {
        const View skipped = string(major());
        return Value(skipped.data + skipped.size, end_);
      }
      case 5:
        inside *= 2;
        [[fallthrough]];
      case 4: {
        Value at(body, end_);
        while (inside-- > 0) at = at.next();
        return at;
      }
      default:
        return Value(body, end_);
    }
  }

  const char* at_ = nullptr;
  const char* end_ = nullptr;
};

// --- steps of a workflow

// Only for a module whose ABI has `context`.
class Context {
 public:
  explicit Context(View encoded) : encoded_(encoded), value_(encoded) {}

  bool exists() const { return value_.exists(); }
  int64_t now_ns() const { return value_["now_ns"].integer(); }
  int64_t logical_now_ns() const {
    return value_["logical_now_ns"].integer();
  }  // never goes back: the one to reckon with
  uint64_t journal_height() const { return value_["journal_height"].nat(); }
  View entropy() const { return value_["entropy"].bytes(); }  // 64 bytes
  View event_hash() const { return value_["event_hash"].text(); }
  View manifest_hash() const { return value_["manifest_hash"].text(); }
  View encoded() const { return encoded_; }

 private:
  View encoded_;
  Value value_;
};

class Step {
 public:
  explicit Step(View input) : input_(input) {}

  bool has_state() const { return !input_["state"].is_null(); }
  Value state() const { return Value(input_["state"].bytes()); }
  View event_schema() const { return input_["event"]["schema"].text(); }
  View event_bytes() const { return input_["event"]["value"].bytes(); }
  Value event() const { return Value(event_bytes()); }
  // Of a keyed module.
  bool has_key() const { return input_["event"]["key"].exists(); }
  View key_bytes() const { return has_key() ? input_["event"]["key"].bytes() : View(); }
  Context context() const {
    return Context(input_["ctx"].exists() ? input_["ctx"].bytes() : View());
  }

  // Without it the state stays as it was.
  void set_state(View encoded) { state_ = encoded, state_set_ = true; }
  // The instance is completed, its state gone.
  void drop_state() { state_ = View(), state_set_ = true; }
  void complete() { status_ = "completed"; }
  void fail(View error) { status_ = "failed", error_ = error; }
  void annotate(View encoded) { annotation_ = encoded, annotated_ = true; }

  void emit_event(View schema, View value) { event_head(schema, value, 2); }
  void emit_event(View schema, View value, View key) {
    event_head(schema, value, 3).text("key").bytes(key);
  }

  // The slot of the capability, if it is not "default"; a key of 32 bytes that tells the outside
  // which effects are one.
  void emit_effect(View kind, View params, View cap_slot = View(), View idempotency_key = View()) {
    const bool slot = !cap_slot.empty();
    const bool key = !idempotency_key.empty();
    effects_.map(2 + slot + key).text("kind").text(kind).text("params_cbor").bytes(params);
    if (slot) effects_.text("cap_slot").text(cap_slot);
    if (key) effects_.text("idempotency_key").bytes(idempotency_key);
    ++effect_count_;
  }

  View output() const {
    Writer out;
    out.map(1 + (event_count_ > 0) + (effect_count_ > 0) + annotated_ + !status_.empty() +
            !error_.empty());
    out.text("state");
    const bool kept = !state_set_ && has_state();
    const View state = kept ? input_["state"].bytes() : state_;
    out.option_bytes(state, kept || state.data != nullptr);
    if (event_count_ > 0) out.text("domain_events").array(event_count_).raw(events_);
    if (effect_count_ > 0) out.text("effects").array(effect_count_).raw(effects_);
    if (annotated_) out.text("ann").bytes(annotation_);
    if (!status_.empty()) out.text("status").text(status_);
    if (!error_.empty()) out.text("error").text(error_);
    return out;
  }

 private:
  Writer& event_head(View schema, View value, size_t members) {
    ++event_count_;
    return events_.map(members).text("schema").text(schema).text("value").bytes(value);
  }

  Value input_;
  View state_;
  bool state_set_ = false;
  View status_;
  View error_;
  View annotation_;
  bool annotated_ = false;
  Writer events_;
  size_t event_count_ = 0;
  Writer effects_;
  size_t effect_count_ = 0;
};

// --- pure modules

class Run {
 public:
  explicit Run(View input) : input_(input) {}

  View input_bytes() const { return input_["input"].bytes(); }
  Value input() const { return Value(input_bytes()); }
  Context context() const {
    return Context(input_["ctx"].exists() ? input_["ctx"].bytes() : View());
  }
  void set_output(View encoded) { output_ = encoded; }
  View output() const { return Writer().map(1).text("output").bytes(output_); }

 private:
  Value input_;
  View output_;
};

inline uint64_t packed(View view) {
  return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(view.data)) << 32 | view.size;
}

}  // namespace pawl_module

#define PAWL_MODULE_EXPORT(name) extern "C" __attribute__((export_name(name)))
#define PAWL_MODULE_ALLOC()                                          \
  PAWL_MODULE_EXPORT("alloc") void* pawl_module_alloc(size_t size) { \
    return pawl_module::memory::take(size);                          \
  }
#define PAWL_MODULE_ENTRY(name, Call, function)                                         \
  PAWL_MODULE_ALLOC()                                                                   \
  PAWL_MODULE_EXPORT(name) uint64_t pawl_module_##Call(const char* data, size_t size) { \
    pawl_module::Call call(pawl_module::View(data, size));                              \
    function(call);                                                                     \
    return pawl_module::packed(call.output());                                          \
  }
// void function(Step&), of a workflow module.
#define PAWL_MODULE_STEP(function) PAWL_MODULE_ENTRY("step", Step, function)
// void function(Run&), of a pure module.
#define PAWL_MODULE_RUN(function) PAWL_MODULE_ENTRY("run", Run, function)
