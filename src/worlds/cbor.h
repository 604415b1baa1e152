// CBOR as worlds use it: a strict reader, and one encoding for every value (RFC 8949, 4.2.1:
// shortest heads, definite lengths, map keys in the bytewise order of their encodings). Only
// integers, byte and text strings, arrays, maps, false, true and null; no floats, no tags.
//
// read() takes what comes from outside or from a module: keys in any order and long heads are fine,
// and written again in the canonical way; everything else that is not canonical is refused, as are
// duplicate keys, bad UTF-8, trailing bytes and a depth beyond kDepthMax.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace pawl::worlds::cbor {

constexpr size_t kDepthMax = 64;

// --- writing
void put_nat(std::string& out, uint64_t value);
void put_int(std::string& out, int64_t value);
void put_bytes(std::string& out, std::string_view bytes);
void put_text(std::string& out, std::string_view text);
void put_bool(std::string& out, bool value);
void put_null(std::string& out);
void put_array(std::string& out, size_t count);  // then the elements
void put_map(std::string& out, size_t count);    // then key, value, … in canonical order

// One member of a map, or element of a set, among others that follow one another in a string: where
// it begins, where its key ends, where it ends. An element is all key.
struct Part {
  size_t begin = 0;
  size_t key_end = 0;
  size_t end = 0;
};
// Puts the parts, which reach to the end of `out`, in the bytewise order of their keys. Of those
// with equal keys the first stays; returns how many stay.
size_t put_in_order(std::string& out, std::span<Part> parts);

// A map with text keys given in any order. Each member is appended to value("name"), as one item;
// end() writes the map to the string that it was begun with. One at a time per string; another map
// may be begun and ended as a member's value.
class Map {
 public:
  explicit Map(std::string& out) : out_(out), begin_(out.size()) { out.push_back('\xa0'); }
  std::string& value(std::string_view key);
  Map& text(std::string_view key, std::string_view text) {
    return put_text(value(key), text), *this;
  }
  Map& bytes(std::string_view key, std::string_view text) {
    return put_bytes(value(key), text), *this;
  }
  Map& nat(std::string_view key, uint64_t nat) { return put_nat(value(key), nat), *this; }
  Map& integer(std::string_view key, int64_t value_of) {
    return put_int(value(key), value_of), *this;
  }
  Map& boolean(std::string_view key, bool is) { return put_bool(value(key), is), *this; }
  Map& null(std::string_view key) { return put_null(value(key)), *this; }
  Map& raw(std::string_view key, std::string_view item) { return value(key).append(item), *this; }
  void end();

 private:
  static constexpr size_t kFewMembers = 16;

  std::string& out_;
  const size_t begin_;
  size_t count_ = 0;
  std::array<Part, kFewMembers> few_;  // no allocation for the maps that the kernel writes
  std::vector<Part> many_;             // all of them, once there are more
};

// --- reading
enum class Kind : uint8_t { Nat, Negative, Bytes, Text, Array, Map, False, True, Null };

// One item. Its strings point into the bytes that were read.
struct Item {
  Kind kind = Kind::Null;
  uint64_t number = 0;      // Nat: the value; Negative: n of -1 - n
  std::string_view string;  // Bytes, Text
  std::vector<Item> items;  // Array: the elements; Map: key, value, key, value …

  bool is_null() const { return kind == Kind::Null; }
  bool is_text() const { return kind == Kind::Text; }
  bool is_bytes() const { return kind == Kind::Bytes; }
  bool is_map() const { return kind == Kind::Map; }
  bool is_array() const { return kind == Kind::Array; }
  // Of a map with this text key; null if there is none, or this is no map.
  const Item* find(std::string_view key) const;
};

// InvalidContent says what is wrong and at which byte.
Result<Item> read(std::string_view bytes);
template <std::same_as<std::string> Temporary>
Result<Item> read(Temporary&& bytes) = delete;    // the item would outlive it
void append(std::string& out, const Item& item);  // canonical, whatever the order in `item`
Result<std::string> canonical(std::string_view bytes);
// Exactly one item, in its one encoding.
bool is_canonical(std::string_view bytes);

// As JSON for people and for record listings: bytes as base64, integers as integers. `out` gets one
// value.
void append_json(std::string& out, const Item& item);

}  // namespace pawl::worlds::cbor
