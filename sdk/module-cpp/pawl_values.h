// The values of modules: CBOR in both directions. Part of pawl_module.h.
#pragma once

#include "pawl_memory.h"

namespace pawl {

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

}  // namespace pawl
