// What a value must look like, whether it comes as JSON or as CBOR, and how a place in it is named.
// For the readers of values only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "worlds/cbor.h"
#include "worlds/type.h"

namespace pawl::worlds {

// Of a dotted path: what it names within the one above. Lives on the stack of the reader.
struct Spot {
  const Spot* up = nullptr;
  std::string_view name = {};  // a field, arm or key; or else
  size_t index = 0;            // of an element
};
// "order.items.2", or "value" for the whole.
std::string place_of(const Spot* spot);

// `-?(0|[1-9][0-9]*)(\.[0-9]+)?`, at most 34 digits, no negative zero.
bool is_dec128(std::string_view text);
// 8-4-4-4-12 hex digits in either case.
bool is_uuid(std::string_view text);
// As it is kept: in lower case.
bool is_folded_uuid(std::string_view text);

// An integer as CBOR has it: the value, or n of -1 - n.
struct Integer {
  bool negative = false;
  uint64_t number = 0;
};
// Only digits, behind a minus sign at most; nothing else that JSON takes for a number.
std::optional<Integer> parse_integer(std::string_view text);
// Whether an int, nat, time or duration can have this value.
bool fits(TypeKind kind, const Integer& integer);

std::string_view expectation(TypeKind kind);  // "expected …"

// Where a value is written, and what was wrong with it first.
class ValueSink {
 public:
  explicit ValueSink(size_t size_guess) { out_.reserve(size_guess); }
  Result<std::string> take(bool good) {
    if (good) return std::move(out_);
    return Error{ErrorCode::InvalidContent, std::move(fault_)};
  }

 protected:
  bool fail(const Spot* spot, std::string_view what);
  bool fail(const Spot* spot, const Type& type) { return fail(spot, expectation(type.kind)); }
  // Text of a text-like type, canonical; false: it does not fit.
  bool put_text_of(TypeKind kind, std::string_view text);
  void put_integer(const Integer& integer);
  // The elements of a set stand in out_ from `begin` on: orders them and puts the head before them.
  void end_set(size_t begin, size_t first_part);
  // Of a map, behind its head. False: a key stands twice.
  bool end_map(size_t first_part);
  // A record, variant, list, set or map begins: false if it stands too deep, or the value has grown
  // too large.
  bool enter(const Spot* spot, size_t depth);

  std::string out_;
  std::vector<cbor::Part>
      parts_;  // of all sets and maps that are being written, the outer ones first
  std::string fault_;
};

}  // namespace pawl::worlds
