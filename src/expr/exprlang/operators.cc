// Operators on values: arithmetic, membership, slices.
#include <algorithm>
#include <cmath>

#include "expr/exprlang/ast.h"
#include "expr/text.h"

namespace pawl::expr::lang {

Datum refuse(CallState& state, std::string message) {
  if (state.error.empty()) state.error = std::move(message);
  return {};
}

namespace {

Datum whole(Op op, int64_t a, int64_t b, CallState& state) {
  int64_t out = 0;
  const bool overflow = op == Op::Add        ? __builtin_add_overflow(a, b, &out)
                        : op == Op::Subtract ? __builtin_sub_overflow(a, b, &out)
                                             : __builtin_mul_overflow(a, b, &out);
  return overflow ? refuse(state, "integer overflow") : Datum::integer(out);
}

// Exact where the result is exact: 2 ** 62 is an integer, 2 ** 64 and 2 ** -1 are not.
Datum power(const Datum& a, const Datum& b) {
  if (a.is_int() && b.is_int() && b.as_int() >= 0 && b.as_int() < 64) {
    int64_t out = 1;
    bool overflow = false;
    for (int64_t i = 0; i < b.as_int() && !overflow; ++i)
      overflow = __builtin_mul_overflow(out, a.as_int(), &out);
    if (!overflow) return Datum::integer(out);
  }
  return number(std::pow(a.as_double(), b.as_double()));
}

Datum divide(const Datum& a, const Datum& b, CallState& state) {
  if (b.as_double() == 0) return refuse(state, "division by zero");
  if (a.is_int() && b.is_int() && b.as_int() != -1 && a.as_int() % b.as_int() == 0)
    return Datum::integer(a.as_int() / b.as_int());
  return number(a.as_double() / b.as_double());
}

Datum range(const Datum& a, const Datum& b, CallState& state) {
  if (!a.is_int() || !b.is_int()) return refuse(state, "a range goes from integer to integer");
  Datum::Array out;
  for (int64_t i = a.as_int(); i <= b.as_int(); ++i) {
    if (!state.budget.spend_steps(1) || !state.budget.spend_bytes(sizeof(Datum))) return {};
    out.push_back(Datum::integer(i));
    if (i == INT64_MAX) break;
  }
  return Datum::array(std::move(out), state.budget);
}

}  // namespace

bool equal(const Datum& a, const Datum& b, Budget& budget) { return compare(a, b, budget) == 0; }

Datum arithmetic(Op op, const Datum& a, const Datum& b, CallState& state) {
  if (op == Op::Range) return range(a, b, state);
  if (op == Op::Add && a.is_string() && b.is_string())
    return joined(a.as_string(), b.as_string(), state.budget);
  if (!a.is_number() || !b.is_number()) {
    return refuse(
        state, "arithmetic on " + std::string(type_name(a)) + " and " + std::string(type_name(b)));
  }
  if (op == Op::Power) return power(a, b);
  if (op == Op::Divide) return divide(a, b, state);
  if (op == Op::Modulo) {
    if (!a.is_int() || !b.is_int()) return refuse(state, "% works on integers only");
    if (b.as_int() == 0) return refuse(state, "division by zero");
    return Datum::integer(b.as_int() == -1 ? 0 : a.as_int() % b.as_int());
  }
  if (a.is_int() && b.is_int()) return whole(op, a.as_int(), b.as_int(), state);
  const double x = a.as_double();
  const double y = b.as_double();
  return Datum::real(op == Op::Add ? x + y : op == Op::Subtract ? x - y : x * y);
}

Datum slice(const Datum& value, const Datum* from, const Datum* to, CallState& state) {
  if (!value.is_array() && !value.is_string())
    return refuse(state, "cannot slice " + std::string(type_name(value)));
  if (value.is_string() && !state.budget.spend_steps(price::scanning(3 * value.as_string().size())))
    return {};
  const int64_t size = static_cast<int64_t>(
      value.is_array() ? value.as_array().size() : count_code_points(value.as_string()));
  const auto place = [&](const Datum* bound, int64_t otherwise) {
    if (bound == nullptr) return otherwise;
    if (!bound->is_int()) {
      refuse(state, "a slice goes from integer to integer");
      return int64_t{0};
    }
    const int64_t at = bound->as_int();
    return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
  };
  const int64_t first = place(from, 0);
  const int64_t last = std::max(first, place(to, size));
  if (!state.error.empty()) return {};
  if (value.is_string()) {
    const std::string& text = value.as_string();
    const size_t begin = offset_of_code_point(text, static_cast<uint64_t>(first));
    const size_t end = offset_of_code_point(text, static_cast<uint64_t>(last));
    return Datum::string(text.substr(begin, end - begin), state.budget);
  }
  const Datum::Array& list = value.as_array();
  if (!state.budget.spend_steps(price::copying(static_cast<uint64_t>(last - first)))) return {};
  return Datum::array(Datum::Array(list.begin() + first, list.begin() + last), state.budget);
}

bool contains(const Datum& container, const Datum& item, CallState& state) {
  if (container.is_null()) return false;
  if (container.is_object())
    return item.is_string() && state.budget.spend_steps(price::reading(item.as_string().size())) &&
           container.as_object().find(item.as_string()) != nullptr;
  if (!container.is_array()) {
    refuse(state, "'in' looks into arrays and maps, not " + std::string(type_name(container)));
    return false;
  }
  for (const Datum& element : container.as_array()) {
    if (equal(element, item, state.budget)) return true;
    if (state.budget.exceeded() != Budget::Exceeded::None) return false;
  }
  return false;
}

}  // namespace pawl::expr::lang
