// Modules of Pawl worlds in C++: one header, no library, for clang (14 or later) and wasm-ld.
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

#include <stddef.h>
#include <stdint.h>

extern "C" {
extern unsigned char __heap_base;  // of wasm-ld
// clang calls these where it sees a loop or a copy.
__attribute__((weak, no_builtin)) void* memcpy(void* to, const void* from, size_t size) {
  auto* t = static_cast<unsigned char*>(to);
  auto* f = static_cast<const unsigned char*>(from);
  for (; size >= 8; size -= 8, t += 8, f += 8)
    *reinterpret_cast<uint64_t __attribute__((aligned(1), may_alias))*>(t) =
        *reinterpret_cast<const uint64_t __attribute__((aligned(1), may_alias))*>(f);
  while (size-- > 0) *t++ = *f++;
  return to;
}
__attribute__((weak, no_builtin)) void* memmove(void* to, const void* from, size_t size) {
  auto* t = static_cast<unsigned char*>(to);
  auto* f = static_cast<const unsigned char*>(from);
  if (t <= f) return memcpy(to, from, size);
  while (size-- > 0) t[size] = f[size];
  return to;
}
__attribute__((weak, no_builtin)) void* memset(void* to, int byte, size_t size) {
  auto* t = static_cast<unsigned char*>(to);
  while (size-- > 0) *t++ = static_cast<unsigned char>(byte);
  return to;
}
__attribute__((weak, no_builtin)) int memcmp(const void* a, const void* b, size_t size) {
  auto* x = static_cast<const unsigned char*>(a);
  auto* y = static_cast<const unsigned char*>(b);
  for (; size > 0; --size, ++x, ++y)
    if (*x != *y) return *x < *y ? -1 : 1;
  return 0;
}
__attribute__((weak, no_builtin)) size_t strlen(const char* text) {
  size_t size = 0;
  while (text[size] != 0) ++size;
  return size;
}
}

namespace pawl {

// --- memory

[[noreturn]] inline void trap() { __builtin_trap(); }

// Never freed; traps where the manifest's memory_pages end.
inline unsigned char* allocate(size_t size) {
  static size_t next = 0;
  constexpr size_t kPage = 65536;
  if (next == 0) next = reinterpret_cast<size_t>(&__heap_base);
  const size_t start = (next + 7) & ~size_t{7};
  const size_t end = start + size;
  if (end < start) trap();
  const size_t have = __builtin_wasm_memory_size(0) * kPage;
  if (end > have) {
    // A step often needs only a little more, and again: doubling keeps the calls few.
    const size_t need = (end - have + kPage - 1) / kPage;
    if (__builtin_wasm_memory_grow(0, need > 16 ? need : 16) == SIZE_MAX &&
        __builtin_wasm_memory_grow(0, need) == SIZE_MAX)
      trap();
  }
  next = end;
  return reinterpret_cast<unsigned char*>(start);
}

// A view of bytes, or of UTF-8 text. Whether it is written as text or as bytes is said by the type.
struct Bytes {
  const unsigned char* data = nullptr;
  size_t size = 0;

  bool empty() const { return size == 0; }
  bool operator==(const Bytes& other) const {
    return size == other.size && memcmp(data, other.data, size) == 0;
  }
};

struct Text : Bytes {
  constexpr Text() = default;
  constexpr Text(const unsigned char* at, size_t length) : Bytes{at, length} {}
  Text(const char* literal)  // NOLINT: texts are written as literals
      : Bytes{reinterpret_cast<const unsigned char*>(literal), __builtin_strlen(literal)} {}
};
inline bool operator==(const Text& a, const Text& b) {
  return static_cast<const Bytes&>(a) == static_cast<const Bytes&>(b);
}

// A growing run of bytes.
class Buffer {
 public:
  void byte(unsigned value) {
    reserve(1);
    data_[size_++] = static_cast<unsigned char>(value);
  }
  void append(const Bytes& more) {
    reserve(more.size);
    memcpy(data_ + size_, more.data, more.size);
    size_ += more.size;
  }
  // The head of a CBOR item: its major type and its number, in the shortest form.
  void head(unsigned major, uint64_t number) {
    const unsigned type = major << 5;
    if (number < 24) return byte(type | static_cast<unsigned>(number));
    const int width = number <= 0xff ? 0 : number <= 0xffff ? 1 : number <= 0xffffffff ? 2 : 3;
    byte(type | static_cast<unsigned>(24 + width));
    for (int shift = (8 << width) - 8; shift >= 0; shift -= 8)
      byte(static_cast<unsigned>(number >> shift) & 0xff);
  }
  Bytes view() const { return {data_, size_}; }

 private:
  void reserve(size_t more) {
    if (size_ + more <= capacity_) return;
    size_t capacity = capacity_ == 0 ? 64 : capacity_ * 2;
    while (capacity < size_ + more) capacity *= 2;
    unsigned char* grown = allocate(capacity);
    memcpy(grown, data_, size_);
    data_ = grown;
    capacity_ = capacity;
  }

  unsigned char* data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

// An array that grows. Its elements are copied as bytes, and never destroyed.
template <class T>
class Array {
 public:
  void add(const T& value) {
    if (size_ == capacity_) {
      capacity_ = capacity_ == 0 ? 8 : capacity_ * 2;
      T* grown = reinterpret_cast<T*>(allocate(capacity_ * sizeof(T)));
      memcpy(static_cast<void*>(grown), static_cast<const void*>(items_), size_ * sizeof(T));
      items_ = grown;
    }
    memcpy(static_cast<void*>(items_ + size_++), static_cast<const void*>(&value), sizeof(T));
  }
  size_t size() const { return size_; }
  T& operator[](size_t at) { return at < size_ ? items_[at] : (trap(), items_[0]); }
  const T& operator[](size_t at) const { return at < size_ ? items_[at] : (trap(), items_[0]); }
  T* begin() { return items_; }
  T* end() { return items_ + size_; }
  const T* begin() const { return items_; }
  const T* end() const { return items_ + size_; }

 private:
  T* items_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

// --- writing: each gives an Encoded, and takes them as parts

struct Encoded {
  Bytes bytes;
};

inline void put(Buffer& out, const Encoded& value) { out.append(value.bytes); }
inline void put(Buffer& out, bool value) { out.byte(value ? 0xf5 : 0xf4); }
inline void put(Buffer& out, uint64_t value) { out.head(0, value); }
inline void put(Buffer& out, int64_t value) {
  if (value >= 0) return out.head(0, static_cast<uint64_t>(value));
  out.head(1, ~static_cast<uint64_t>(value));
}
inline void put(Buffer& out, uint32_t value) { put(out, uint64_t{value}); }
inline void put(Buffer& out, int32_t value) { put(out, int64_t{value}); }
inline void put(Buffer& out, unsigned long value) { put(out, uint64_t{value}); }
inline void put(Buffer& out, const Text& value) {
  out.head(3, value.size);
  out.append(value);
}
inline void put(Buffer& out, const char* value) { put(out, Text(value)); }
inline void put(Buffer& out, const Bytes& value) {
  out.head(2, value.size);
  out.append(value);
}
inline void put(Buffer& out, decltype(nullptr)) { out.byte(0xf6); }  // none, unit

template <class T>
Encoded encode(const T& value) {
  Buffer out;
  put(out, value);
  return {out.view()};
}

namespace inside {
inline void put_fields(Buffer&) {}
template <class T, class... More>
void put_fields(Buffer& out, const char* name, const T& value, const More&... more) {
  put(out, Text(name));
  put(out, value);
  put_fields(out, more...);
}
}  // namespace inside

// record("order_id", id, "amount_cents", 4200u): all fields of the type, in any order; nullptr is none.
template <class... Fields>
Encoded record(const Fields&... fields) {
  static_assert(sizeof...(Fields) % 2 == 0, "names and values by turns");
  Buffer out;
  out.head(5, sizeof...(Fields) / 2);
  inside::put_fields(out, fields...);
  return {out.view()};
}

// An arm of a variant: variant("Paid", record(…)), and variant("Open") if the arm is a unit.
inline Encoded variant(const Text& tag) { return record("$tag", tag); }
template <class T>
Encoded variant(const Text& tag, const T& value) {
  return record("$tag", tag, "$value", value);
}

// A list, or a set: sets are sorted by the server.
class List {
 public:
  template <class T>
  List& add(const T& value) {
    put(items_, value);
    ++count_;
    return *this;
  }
  Encoded done() const {
    Buffer out;
    out.head(4, count_);
    out.append(items_.view());
    return {out.view()};
  }

 private:
  Buffer items_;
  uint64_t count_ = 0;
};

// A map, its keys in any order, each once.
class Map {
 public:
  template <class K, class T>
  Map& add(const K& key, const T& value) {
    put(items_, key);
    put(items_, value);
    ++count_;
    return *this;
  }
  Encoded done() const {
    Buffer out;
    out.head(5, count_);
    out.append(items_.view());
    return {out.view()};
  }

 private:
  Buffer items_;
  uint64_t count_ = 0;
};

namespace inside {
inline void put_part(Buffer& out, const Bytes& part) { out.append(part); }
inline void put_part(Buffer& out, const char* part) { out.append(Text(part)); }
inline void put_part(Buffer& out, uint64_t number) {
  unsigned char digits[20];
  size_t at = sizeof digits;
  do {
    digits[--at] = static_cast<unsigned char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  out.append({digits + at, sizeof digits - at});
}
}  // namespace inside

// concat("order ", id, " failed ", uint64_t{3}, " times")
template <class... Parts>
Text concat(const Parts&... parts) {
  Buffer out;
  (inside::put_part(out, parts), ...);
  return {out.view().data, out.view().size};
}

// --- reading

class Value {
 public:
  Value() = default;  // null
  Value(const unsigned char* at, const unsigned char* end) : at_(at), end_(end) {}
  explicit Value(const Bytes& encoded) : at_(encoded.data), end_(encoded.data + encoded.size) {}

  bool is_null() const { return at_ == end_ || *at_ == 0xf6; }
  bool is_text() const { return at_ != end_ && *at_ >> 5 == 3; }
  explicit operator bool() const { return !is_null(); }

  bool boolean() const {
    if (is_null() || (*at_ != 0xf4 && *at_ != 0xf5)) trap();
    return *at_ == 0xf5;
  }
  uint64_t nat() const { return open(0).number; }
  int64_t integer() const {
    const Head head = open();
    if (head.major > 1) trap();
    return static_cast<int64_t>(head.major == 0 ? head.number : ~head.number);
  }
  Text text() const {
    const Head head = open(3);
    return {head.content, static_cast<size_t>(head.number)};
  }
  Bytes bytes() const {
    const Head head = open(2);
    return {head.content, static_cast<size_t>(head.number)};
  }
  uint64_t nat_or(uint64_t otherwise) const { return is_null() ? otherwise : nat(); }
  int64_t integer_or(int64_t otherwise) const { return is_null() ? otherwise : integer(); }
  bool boolean_or(bool otherwise) const { return is_null() ? otherwise : boolean(); }
  Text text_or(const Text& otherwise) const { return is_null() ? otherwise : text(); }

  // A field of a record, or the value of a map's text key; null if there is none.
  Value operator[](const char* name) const;
  // The value of a map's key.
  template <class K>
  Value at(const K& key) const {
    return find(encode(key));
  }

  // Of a variant: which arm, and what is in it (null for a unit).
  Text tag() const { return (*this)["$tag"].text(); }
  Value arm() const { return (*this)["$value"]; }
  // What is in this arm; null if the variant has another.
  Value arm(const Text& tag) const { return this->tag() == tag ? arm() : Value(); }

  // Elements of a list or set; of a map, its entries.
  uint64_t size() const {
    if (is_null()) return 0;
    const Head head = open();
    if (head.major != 4 && head.major != 5) trap();
    return head.number;
  }

  struct Entry;
  template <class Item>
  class Range;
  Range<Value> elements() const;
  Range<Entry> entries() const;

  // As it stands: to be stored, or sent on, without reading it.
  Encoded encoded() const {
    static const unsigned char null = 0xf6;
    if (at_ == end_) return {{&null, 1}};
    return {{at_, static_cast<size_t>(skip() - at_)}};
  }

  // The byte behind this value.
  const unsigned char* skip() const {
    uint64_t left = 1;
    const unsigned char* at = at_;
    while (left > 0) {
      const Head head = Value(at, end_).open();
      at = head.content;
      --left;
      if (head.major == 2 || head.major == 3) at += head.number;
      if (head.major == 4) left += head.number;
      if (head.major == 5) left += 2 * head.number;
      if (at > end_) trap();
    }
    return at;
  }
  const unsigned char* end() const { return end_; }

 private:
  struct Head {
    unsigned major = 0;
    uint64_t number = 0;
    const unsigned char* content = nullptr;
  };

  Head open() const {
    if (at_ >= end_) trap();
    Head head{static_cast<unsigned>(*at_ >> 5), static_cast<uint64_t>(*at_ & 31), at_ + 1};
    if (head.number < 24) return head;
    if (head.number > 27) trap();
    const size_t width = size_t{1} << (head.number - 24);
    if (static_cast<size_t>(end_ - head.content) < width) trap();
    head.number = 0;
    for (size_t i = 0; i < width; ++i) head.number = head.number << 8 | *head.content++;
    return head;
  }
  Head open(unsigned major) const {
    const Head head = open();
    if (head.major != major) trap();
    if (major != 0 && head.number > static_cast<size_t>(end_ - head.content)) trap();
    return head;
  }
  Value find(const Encoded& key) const;

  const unsigned char* at_ = nullptr;
  const unsigned char* end_ = nullptr;
};

struct Value::Entry {
  Value key, value;
};

// for (Value item : value.elements()) …; for (auto [key, item] : value.entries()) …
template <class Item>
class Value::Range {
 public:
  class Iterator {
   public:
    Iterator(const unsigned char* at, const unsigned char* end, uint64_t left)
        : at_(at), end_(end), left_(left) {}
    bool operator!=(const Iterator& other) const { return left_ != other.left_; }
    Item operator*() const {
      if constexpr (sizeof(Item) == sizeof(Value)) {
        return Value(at_, end_);
      } else {
        return {Value(at_, end_), Value(Value(at_, end_).skip(), end_)};
      }
    }
    Iterator& operator++() {
      at_ = Value(at_, end_).skip();
      if constexpr (sizeof(Item) != sizeof(Value)) at_ = Value(at_, end_).skip();
      --left_;
      return *this;
    }

   private:
    const unsigned char* at_;
    const unsigned char* end_;
    uint64_t left_;
  };
  Range(const unsigned char* at, const unsigned char* end, uint64_t count)
      : at_(at), end_(end), count_(count) {}
  Iterator begin() const { return {at_, end_, count_}; }
  Iterator end() const { return {end_, end_, 0}; }

 private:
  const unsigned char* at_;
  const unsigned char* end_;
  uint64_t count_;
};

inline Value::Range<Value> Value::elements() const {
  if (is_null()) return {end_, end_, 0};
  const Head head = open();
  if (head.major != 4) trap();
  return {head.content, end_, head.number};
}

inline Value::Range<Value::Entry> Value::entries() const {
  if (is_null()) return {end_, end_, 0};
  const Head head = open();
  if (head.major != 5) trap();
  return {head.content, end_, head.number};
}

inline Value Value::operator[](const char* name) const {
  const Text wanted(name);
  for (const Entry entry : entries())
    if (entry.key.is_text() && entry.key.text() == wanted) return entry.value;
  return {};
}

// Both are in the shortest form, so equal keys are equal bytes.
inline Value Value::find(const Encoded& key) const {
  for (const Entry entry : entries()) {
    const unsigned char* begin = entry.key.at_;
    const unsigned char* behind = entry.value.at_;
    if (Bytes{begin, static_cast<size_t>(behind - begin)} == key.bytes) return entry.value;
  }
  return {};
}

inline void put(Buffer& out, const Value& value) { put(out, value.encoded()); }

// --- typed values: `pawl worlds types --lang cpp` makes structs of a world's schemas, which these read and write

struct Unit {};

template <class T>
struct Option {
  bool some = false;
  T value{};
};

template <class K, class T>
struct Pair {
  K key{};
  T value{};
};
template <class K, class T>
using Pairs = Array<Pair<K, T>>;  // a map

// A null leaves `into` as it is.
inline void read(const Value&, Unit&) {}
inline void read(const Value& value, bool& into) { into = value.boolean_or(into); }
inline void read(const Value& value, uint64_t& into) { into = value.nat_or(into); }
inline void read(const Value& value, int64_t& into) { into = value.integer_or(into); }
inline void read(const Value& value, Text& into) { into = value.text_or(into); }
inline void read(const Value& value, Bytes& into) {
  if (value) into = value.bytes();
}
template <class T>
void read(const Value& value, Option<T>& into);
template <class K, class T>
void read(const Value& value, Array<Pair<K, T>>& into);
template <class T>
void read(const Value& value, Array<T>& into) {
  for (const Value item : value.elements()) {
    T one{};
    read(item, one);
    into.add(one);
  }
}
template <class T>
void read(const Value& value, Option<T>& into) {
  into.some = !value.is_null();
  if (into.some) read(value, into.value);
}
template <class K, class T>
void read(const Value& value, Array<Pair<K, T>>& into) {
  for (const auto entry : value.entries()) {
    Pair<K, T> one{};
    read(entry.key, one.key);
    read(entry.value, one.value);
    into.add(one);
  }
}

inline void put(Buffer& out, const Unit&) { out.byte(0xf6); }
template <class T>
void put(Buffer& out, const Option<T>& value);
template <class K, class T>
void put(Buffer& out, const Array<Pair<K, T>>& value);
template <class T>
void put(Buffer& out, const Array<T>& value) {
  out.head(4, value.size());
  for (const T& item : value) put(out, item);
}
template <class T>
void put(Buffer& out, const Option<T>& value) {
  if (value.some) return put(out, value.value);
  out.byte(0xf6);
}
template <class K, class T>
void put(Buffer& out, const Array<Pair<K, T>>& value) {
  out.head(5, value.size());
  for (const Pair<K, T>& entry : value) {
    put(out, entry.key);
    put(out, entry.value);
  }
}

// as<OrderState>(step.state()): of null, what T is when nobody says anything.
template <class T>
T as(const Value& value) {
  T into{};
  read(value, into);
  return into;
}

// "sha256:…" as its 32 bytes: the form of an idempotency key.
inline Bytes hash_bytes(const Text& hash) {
  constexpr size_t kPrefix = 7, kSize = 32;
  if (hash.size != kPrefix + 2 * kSize) trap();
  unsigned char* out = allocate(kSize);
  for (size_t i = 0; i < 2 * kSize; ++i) {
    const unsigned char c = hash.data[kPrefix + i];
    const unsigned digit = c >= 'a' ? c - 'a' + 10u : c - static_cast<unsigned>('0');
    out[i / 2] = static_cast<unsigned char>(i % 2 == 0 ? digit << 4 : out[i / 2] | digit);
  }
  return {out, kSize};
}

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
