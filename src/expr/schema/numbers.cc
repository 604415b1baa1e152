// Numbers and hashes for the validator.
#include <charconv>

#include "base/table_hash.h"
#include "expr/schema/check.h"

namespace pawl::expr::schema {
namespace {

using Wide = unsigned __int128;

struct Decimal {
  uint64_t digits = 0;  // value = digits × 10^exponent, sign dropped
  int exponent = 0;
};

Decimal decimal(const Value& value) {
  Decimal out;
  if (value.is_int()) {
    const int64_t number = value.as_int();
    out.digits = number < 0 ? 0 - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
    return out;
  }
  char text[40];
  const char* const end =
      std::to_chars(text, text + sizeof text, value.as_double(), std::chars_format::scientific).ptr;
  bool fraction = false;
  const char* at = text;
  for (; at != end && *at != 'e'; ++at) {
    if (*at == '.') fraction = true;
    if (*at < '0' || *at > '9') continue;
    out.digits = out.digits * 10 + static_cast<uint64_t>(*at - '0');
    if (fraction) --out.exponent;
  }
  if (at != end) {
    int exponent = 0;
    std::from_chars(at + (at[1] == '+' ? 2 : 1), end, exponent);
    out.exponent += exponent;
  }
  return out;
}

size_t mix(size_t seed, size_t value) {
  return (seed ^ (value + 0x9e3779b97f4a7c15u + (seed << 6) + (seed >> 2))) * 0x100000001b3u;
}

}  // namespace

bool is_multiple(const Value& number, const Value& divisor) {
  const Decimal a = decimal(number);
  const Decimal b = decimal(divisor);
  if (a.digits == 0) return true;
  if (b.digits == 0) return false;
  if (a.exponent >= b.exponent) {
    Wide rest = a.digits % b.digits;
    for (int i = b.exponent; i < a.exponent && rest != 0; ++i) rest = rest * 10 % b.digits;
    return rest == 0;
  }
  Wide scaled = b.digits;
  for (int i = a.exponent; i < b.exponent; ++i) {
    scaled *= 10;
    if (scaled > a.digits) return false;
  }
  return a.digits % scaled == 0;
}

size_t hash_value(const Value& value, uint64_t& parts) {
  ++parts;
  switch (value.kind()) {
    case Value::Kind::Null:
      return 1;
    case Value::Kind::Bool:
      return value.as_bool() ? 3 : 2;
    case Value::Kind::Int:
    case Value::Kind::Double:
      return table_hash(value.as_double());
    case Value::Kind::String:
      parts += value.as_string().size() / 64;
      return mix(4, table_hash(value.as_string()));
    case Value::Kind::Array: {
      size_t hash = 5;
      for (const Value& element : value.as_array()) hash = mix(hash, hash_value(element, parts));
      return hash;
    }
    case Value::Kind::Object: {
      size_t hash = 6;  // order must not matter
      for (const Value::Member& member : value.as_object())
        hash += mix(table_hash(member.key), hash_value(member.value, parts));
      return hash;
    }
  }
  return 0;
}

}  // namespace pawl::expr::schema
