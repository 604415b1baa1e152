// Operators on values.
#include <algorithm>
#include <cmath>

#include "expr/jq/machine.h"
#include "expr/text.h"
#include "expr/text_search.h"

namespace pawl::expr::jq {
namespace {

bool holds_nan(const Datum& value) { return value.is_double() && std::isnan(value.as_double()); }

// Integers stay exact; results outside int64 become doubles.
Datum numbers(Op op, const Datum& a, const Datum& b) {
  int64_t whole = 0;
  if (a.is_int() && b.is_int()) {
    const bool overflow = op == Op::Add ? __builtin_add_overflow(a.as_int(), b.as_int(), &whole)
                          : op == Op::Subtract
                              ? __builtin_sub_overflow(a.as_int(), b.as_int(), &whole)
                              : __builtin_mul_overflow(a.as_int(), b.as_int(), &whole);
    if (!overflow) return Datum::integer(whole);
  }
  const double x = a.as_double();
  const double y = b.as_double();
  return number(op == Op::Add ? x + y : op == Op::Subtract ? x - y : x * y);
}

Datum merged(Datum a, const Datum& b, bool deep, Budget& budget) {
  if (!budget.spend_steps(b.as_object().size()) ||
      !budget.spend_bytes(b.as_object().size() * sizeof(Datum::Member)))
    return {};
  for (const Datum::Member& member : b.as_object().members()) {
    if (!budget.spend_steps(price::reading(member.key->size()))) return {};
    Datum value = member.value;
    const Datum* const old = deep ? a.as_object().find(*member.key) : nullptr;
    if (old != nullptr && old->is_object() && value.is_object())
      value = merged(*old, value, true, budget);
    a.edit_object(budget).set(member.key, value);
    a.deepen(value, budget);
    if (budget.exceeded() != Budget::Exceeded::None) return {};
  }
  return a;
}

bool repeated(const Datum& text, const Datum& times, Datum& out, Budget& budget) {
  const double count = times.as_double();
  if (!(count > 0)) {
    out = Datum();
    return true;
  }
  const double size = static_cast<double>(text.as_string().size());
  const double copies = count < 1 ? 1 : std::floor(count);
  if (size * copies > static_cast<double>(budget.limits().bytes_max))
    return budget.spend_bytes(UINT64_MAX);
  const auto bytes = static_cast<uint64_t>(size * copies);
  if (bytes == 0) {
    out = text;
    return true;
  }
  if (!budget.spend_steps(1 + price::reading(bytes)) || !budget.spend_bytes(bytes)) return false;
  out = Datum::string(repeat_text(text.as_string(), bytes), budget);
  return true;
}

bool split_text(const std::string& text, const std::string& separator, Datum& out, Budget& budget) {
  if (!budget.spend_steps(price::scanning(text.size() + separator.size()))) return false;
  Datum::Array parts;
  size_t at = 0;
  while (!text.empty()) {
    size_t end = separator.empty() ? at : find_part(text, separator, at);
    if (separator.empty()) {
      end = at + 1;
      while (end < text.size() && (text[end] & 0xC0) == 0x80) ++end;
      if (end >= text.size()) end = std::string::npos;
    }
    parts.push_back(Datum::string(text.substr(at, end - at), budget));
    if (!budget.spend_steps(2) || !budget.spend_bytes(sizeof(Datum))) return false;
    if (end == std::string::npos) break;
    at = end + separator.size();
  }
  out = Datum::array(std::move(parts), budget);
  return true;
}

bool without(const Datum& a, const Datum& b, Datum& out, Budget& budget) {
  Datum::Array kept;
  for (const Datum& element : a.as_array()) {
    bool found = false;
    for (const Datum& unwanted : b.as_array()) {
      if (compare(element, unwanted, budget) == 0) found = true;
      if (found || budget.exceeded() != Budget::Exceeded::None) break;
    }
    if (!found) kept.push_back(element);
    if (!budget.spend_steps(1)) return false;
  }
  out = Datum::array(std::move(kept), budget);
  return true;
}

bool add_values(Datum a, const Datum& b, Datum& out, Budget& budget) {
  if (a.is_string()) {
    out = joined(a.as_string(), b.as_string(), budget);
  } else if (a.is_array()) {
    if (!budget.spend_bytes(b.as_array().size() * sizeof(Datum)) ||
        !budget.spend_steps(price::copying(b.as_array().size())))
      return false;
    const Datum more = b;  // may be the same array
    for (const Datum& element : more.as_array()) {
      a.edit_array(budget).push_back(element);
      a.deepen(element, budget);
      if (budget.exceeded() != Budget::Exceeded::None) return false;
    }
    out = std::move(a);
  } else {
    out = merged(std::move(a), b, false, budget);
  }
  return true;
}

int64_t as_integer(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 9223372036854775807.0) return INT64_MAX;
  if (value <= -9223372036854775808.0) return INT64_MIN;
  return static_cast<int64_t>(value);
}

bool divide(Op op, const Datum& a, const Datum& b, Datum& out, Budget& budget, std::string& error) {
  const bool modulo = op == Op::Modulo;
  const int64_t x = a.is_int() ? a.as_int() : as_integer(a.as_double());
  const int64_t y = b.is_int() ? b.as_int() : as_integer(b.as_double());
  if (modulo ? y == 0 : b.as_double() == 0) {
    error = described(a, budget) + " and " + described(b, budget) +
            " cannot be divided because the divisor is zero";
    return false;
  }
  if (modulo) {
    out = holds_nan(a) || holds_nan(b) ? Datum::real(std::nan(""))
                                       : Datum::integer(y == -1 ? 0 : x % y);
  } else if (a.is_int() && b.is_int() && y != -1 && x % y == 0) {
    out = Datum::integer(x / y);
  } else {
    out = number(a.as_double() / b.as_double());
  }
  return true;
}

}  // namespace

std::string described(const Datum& value, Budget& budget) {
  std::string text = value.is_array() || value.is_object()
                         ? (value.depth() > 3 || budget.exceeded() != Budget::Exceeded::None
                                ? std::string("…")
                                : json_text(value, budget))
                         : json_text(value, budget);
  if (text.size() > 60) {
    size_t cut = 57;
    while (cut > 0 && (text[cut] & 0xC0) == 0x80) --cut;
    text = text.substr(0, cut) + "...";
  }
  return std::string(type_name(value)) + (value.is_null() ? " (null)" : " (" + text + ")");
}

bool compares(Op op, const Datum& a, const Datum& b, Budget& budget) {
  if (holds_nan(a) || (holds_nan(b) && a.is_number()))
    return op == Op::NotEqual ||
           (holds_nan(a) && b.is_number() && (op == Op::Less || op == Op::LessEqual));
  const int order = compare(a, b, budget);
  if (op == Op::Equal) return order == 0;
  if (op == Op::NotEqual) return order != 0;
  if (op == Op::Less) return order < 0;
  if (op == Op::LessEqual) return order <= 0;
  return op == Op::Greater ? order > 0 : order >= 0;
}

bool arithmetic(Op op, Datum a, const Datum& b, Datum& out, Budget& budget, std::string& error) {
  const bool both_numbers = a.is_number() && b.is_number();
  const auto both = [&](Value::Kind kind) { return a.kind() == kind && b.kind() == kind; };
  if (op == Op::Add) {
    if (a.is_null() || b.is_null()) {
      out = a.is_null() ? b : std::move(a);
      return true;
    }
    if (both(Value::Kind::String) || both(Value::Kind::Array) || both(Value::Kind::Object))
      return add_values(std::move(a), b, out, budget);
  }
  if (op == Op::Subtract && both(Value::Kind::Array)) return without(a, b, out, budget);
  if (op == Op::Multiply && a.is_string() && b.is_number()) return repeated(a, b, out, budget);
  if (op == Op::Multiply && a.is_number() && b.is_string()) return repeated(b, a, out, budget);
  if (op == Op::Multiply && both(Value::Kind::Object)) {
    out = merged(std::move(a), b, true, budget);
    return true;
  }
  if (op == Op::Divide && both(Value::Kind::String))
    return split_text(a.as_string(), b.as_string(), out, budget);
  if (both_numbers && (op == Op::Divide || op == Op::Modulo))
    return divide(op, a, b, out, budget, error);
  if (both_numbers) {
    out = numbers(op, a, b);
    return true;
  }
  const std::string_view verb = op == Op::Add        ? "added"
                                : op == Op::Subtract ? "subtracted"
                                : op == Op::Multiply ? "multiplied"
                                                     : "divided";
  error = described(a, budget) + " and " + described(b, budget) + " cannot be " + std::string(verb);
  return false;
}

}  // namespace pawl::expr::jq
