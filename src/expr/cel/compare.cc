#include "expr/cel/compare.h"

#include <cmath>

#include "base/table_hash.h"

namespace pawl::expr {
namespace {

constexpr double kTwo63 = 9223372036854775808.0;
constexpr double kTwo64 = 18446744073709551616.0;

template <typename T>
Order order_of(const T& a, const T& b) {
  return a < b ? Order::Less : b < a ? Order::Greater : Order::Equal;
}

Order flip(Order order) {
  if (order == Order::Less) return Order::Greater;
  if (order == Order::Greater) return Order::Less;
  return order;
}

Order int_to_uint(int64_t a, uint64_t b) {
  return a < 0 ? Order::Less : order_of(static_cast<uint64_t>(a), b);
}

// As other CEL implementations do: after the range check, the integer is rounded to double.
Order int_to_double(int64_t a, double b) {
  if (std::isnan(b)) return Order::Unordered;
  if (b > kTwo63) return Order::Less;
  if (b < -kTwo63) return Order::Greater;
  return order_of(static_cast<double>(a), b);
}

Order uint_to_double(uint64_t a, double b) {
  if (std::isnan(b)) return Order::Unordered;
  if (b > kTwo64) return Order::Less;
  if (b < 0) return Order::Greater;
  return order_of(static_cast<double>(a), b);
}

Order double_to_double(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return Order::Unordered;
  return order_of(a, b);
}

Order compare_numbers(const Val& a, const Val& b) {
  if (a.is(Kind::Int)) {
    if (b.is(Kind::Int)) return order_of(a.as_int(), b.as_int());
    if (b.is(Kind::Uint)) return int_to_uint(a.as_int(), b.as_uint());
    return int_to_double(a.as_int(), b.as_double());
  }
  if (a.is(Kind::Uint)) {
    if (b.is(Kind::Uint)) return order_of(a.as_uint(), b.as_uint());
    if (b.is(Kind::Int)) return flip(int_to_uint(b.as_int(), a.as_uint()));
    return uint_to_double(a.as_uint(), b.as_double());
  }
  if (b.is(Kind::Int)) return flip(int_to_double(b.as_int(), a.as_double()));
  if (b.is(Kind::Uint)) return flip(uint_to_double(b.as_uint(), a.as_double()));
  return double_to_double(a.as_double(), b.as_double());
}

bool equal_lists(const Val& a, const Val& b, Budget& budget) {
  const size_t size = a.list_size();
  if (size != b.list_size()) return false;
  if (!budget.spend_steps(size)) return false;
  for (size_t i = 0; i < size; ++i) {
    if (!equal(a.list_at(i), b.list_at(i), budget)) return false;
  }
  return true;
}

bool equal_maps(const Val& a, const Val& b, Budget& budget) {
  const size_t size = a.map_size();
  if (size != b.map_size()) return false;
  if (!budget.spend_steps(size)) return false;
  for (size_t i = 0; i < size; ++i) {
    const auto [key, value] = a.map_at(i);
    const Val twin = b.map_find(key);
    if (twin.is_absent() || !equal(value, twin, budget)) return false;
  }
  return true;
}

}  // namespace

bool equal_scalars(const Val& a, const Val& b) {
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == Order::Equal;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::Null:
      return true;
    case Kind::Bool:
    case Kind::Duration:
    case Kind::Type:
      return a.as_int() == b.as_int();
    case Kind::String:
    case Kind::Bytes:
      return a.as_string() == b.as_string();
    case Kind::Timestamp:
      return a.seconds() == b.seconds() && a.nanos() == b.nanos();
    case Kind::Ip:
      return a.as_ip() == b.as_ip();
    case Kind::Cidr:
      return a.as_cidr().address == b.as_cidr().address && a.as_cidr().prefix == b.as_cidr().prefix;
    case Kind::Int:
    case Kind::Uint:
    case Kind::Double:
    case Kind::List:
    case Kind::Map:
    case Kind::Optional:
    case Kind::Error:
    case Kind::Absent:
      return false;
  }
  return false;
}

bool equal(const Val& a, const Val& b, Budget& budget) {
  if (a.kind() == b.kind()) {
    if (a.is(Kind::List)) return equal_lists(a, b, budget);
    if (a.is(Kind::Map)) return equal_maps(a, b, budget);
    if (a.is(Kind::Optional)) {
      if (!a.has_value() || !b.has_value()) return a.has_value() == b.has_value();
      return equal(a.optional_value(), b.optional_value(), budget);
    }
    if (a.is(Kind::String) || a.is(Kind::Bytes)) {
      const std::string_view left = a.as_string();
      const std::string_view right = b.as_string();
      return left.size() == right.size() && budget.spend_steps(left.size() / 64) && left == right;
    }
  }
  return equal_scalars(a, b);
}

Order compare(const Val& a, const Val& b) {
  if (a.is_number() && b.is_number()) return compare_numbers(a, b);
  if (a.kind() != b.kind()) return Order::Incomparable;
  switch (a.kind()) {
    case Kind::Bool:
    case Kind::Duration:
      return order_of(a.as_int(), b.as_int());
    case Kind::String:
    case Kind::Bytes:
      return order_of(a.as_string(), b.as_string());
    case Kind::Timestamp:
      if (a.seconds() != b.seconds()) return order_of(a.seconds(), b.seconds());
      return order_of(a.nanos(), b.nanos());
    case Kind::Null:
    case Kind::Int:
    case Kind::Uint:
    case Kind::Double:
    case Kind::List:
    case Kind::Map:
    case Kind::Type:
    case Kind::Optional:
    case Kind::Ip:
    case Kind::Cidr:
    case Kind::Error:
    case Kind::Absent:
      return Order::Incomparable;
  }
  return Order::Incomparable;
}

size_t hash_text(std::string_view text) { return table_hash(text); }

size_t hash_key(const Val& key) {
  if (key.is(Kind::String)) return hash_text(key.as_string());
  // Comparison goes through double when the number types differ, so the hash does too.
  if (key.is(Kind::Int)) return table_hash(static_cast<double>(key.as_int()));
  if (key.is(Kind::Uint)) return table_hash(static_cast<double>(key.as_uint()));
  if (key.is(Kind::Double)) return table_hash(key.as_double());
  return static_cast<size_t>(key.kind()) + (key.is(Kind::Bool) && key.as_bool() ? 256 : 0);
}

}  // namespace pawl::expr
