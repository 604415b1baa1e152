#include "expr/cel/arithmetic.h"

#include <cmath>

#include "expr/cel/time_text.h"

namespace pawl::expr {
namespace {

Val overflow(std::string_view name) {
  return Val::error("return error for overflow: " + std::string(name) +
                    " leaves the range of the type");
}

Val refuse(std::string_view name, const Val& a, const Val& b) {
  const Val both[] = {a, b};
  return no_overload(name, both);
}

// Converts two numbers of different types to a common type; false if there is none.
bool unify(const CallContext& context, const Val& a, const Val& b, Val& left, Val& right) {
  if (!context.mixed_arithmetic || !a.is_number() || !b.is_number() || a.kind() == b.kind())
    return false;
  const auto real = [](const Val& v) {
    if (v.is(Kind::Double)) return v.as_double();
    return v.is(Kind::Int) ? static_cast<double>(v.as_int()) : static_cast<double>(v.as_uint());
  };
  const auto fits = [](const Val& v) {
    return v.is(Kind::Int) || v.as_uint() <= static_cast<uint64_t>(INT64_MAX);
  };
  if (a.is(Kind::Double) || b.is(Kind::Double) || !fits(a) || !fits(b)) {
    left = Val::real(real(a));
    right = Val::real(real(b));
  } else {
    left = Val::integer(a.as_int());
    right = Val::integer(b.as_int());
  }
  return true;
}

Val add_texts(CallContext& context, const Val& a, const Val& b) {
  const std::string_view left = a.as_string();
  const std::string_view right = b.as_string();
  const size_t size = left.size() + right.size();
  if (!context.budget.spend_bytes(size + 48) || !context.budget.spend_steps(size / 64))
    return exhausted();
  std::string joined;
  joined.reserve(size);
  joined.append(left).append(right);
  return a.is(Kind::String) ? Val::string(std::move(joined)) : Val::bytes(std::move(joined));
}

Val add_lists(CallContext& context, const Val& a, const Val& b) {
  const size_t left = a.list_size();
  const size_t right = b.list_size();
  if (left == 0) return b;
  if (right == 0) return a;
  if (!context.budget.spend_bytes((left + right) * sizeof(Val) + 48) ||
      !context.budget.spend_steps(left + right))
    return exhausted();
  std::vector<Val> elements;
  elements.reserve(left + right);
  for (size_t i = 0; i < left; ++i) elements.push_back(a.list_at(i));
  for (size_t i = 0; i < right; ++i) elements.push_back(b.list_at(i));
  return Val::list(std::move(elements));
}

Val shift_time(const Val& time, int64_t nanoseconds) {
  int64_t seconds = time.seconds() + nanoseconds / kNanosPerSecond;
  int64_t nanos = static_cast<int64_t>(time.nanos()) + nanoseconds % kNanosPerSecond;
  if (nanos < 0) {
    nanos += kNanosPerSecond;
    --seconds;
  } else if (nanos >= kNanosPerSecond) {
    nanos -= kNanosPerSecond;
    ++seconds;
  }
  return checked_timestamp(seconds, static_cast<uint32_t>(nanos));
}

Val add_times(const Val& a, const Val& b) {
  if (a.is(Kind::Duration) && b.is(Kind::Duration)) {
    int64_t sum = 0;
    if (__builtin_add_overflow(a.duration_ns(), b.duration_ns(), &sum))
      return Val::error("range error: the duration is too long");
    return Val::duration(sum);
  }
  if (a.is(Kind::Timestamp) && b.is(Kind::Duration)) return shift_time(a, b.duration_ns());
  if (a.is(Kind::Duration) && b.is(Kind::Timestamp)) return shift_time(b, a.duration_ns());
  return refuse("_+_", a, b);
}

Val subtract_times(const Val& a, const Val& b) {
  int64_t result = 0;
  if (a.is(Kind::Duration) && b.is(Kind::Duration)) {
    if (__builtin_sub_overflow(a.duration_ns(), b.duration_ns(), &result))
      return Val::error("range error: the duration is too long");
    return Val::duration(result);
  }
  if (a.is(Kind::Timestamp) && b.is(Kind::Duration)) {
    if (b.duration_ns() == INT64_MIN) return Val::error("range error: the duration is too long");
    return shift_time(a, -b.duration_ns());
  }
  if (a.is(Kind::Timestamp) && b.is(Kind::Timestamp)) {
    const int64_t seconds = a.seconds() - b.seconds();
    const int64_t nanos = static_cast<int64_t>(a.nanos()) - static_cast<int64_t>(b.nanos());
    if (__builtin_mul_overflow(seconds, kNanosPerSecond, &result) ||
        __builtin_add_overflow(result, nanos, &result)) {
      return Val::error("range error: the duration is too long");
    }
    return Val::duration(result);
  }
  return refuse("_-_", a, b);
}

// Each is true if the result does not fit.
constexpr auto kAdd = [](auto a, auto b, auto* out) { return __builtin_add_overflow(a, b, out); };
constexpr auto kSubtract = [](auto a, auto b, auto* out) {
  return __builtin_sub_overflow(a, b, out);
};
constexpr auto kMultiply = [](auto a, auto b, auto* out) {
  return __builtin_mul_overflow(a, b, out);
};

template <auto kMake, class Whole, class Operation>
Val exactly(const char* name, Whole a, Whole b, Operation operation) {
  Whole result = 0;
  return operation(a, b, &result) ? overflow(name) : kMake(result);
}

}  // namespace

Val add(CallContext& context, const Val& a, const Val& b) {
  if (a.kind() == b.kind()) {
    if (a.is(Kind::Int)) return exactly<Val::integer>("_+_", a.as_int(), b.as_int(), kAdd);
    if (a.is(Kind::Uint)) return exactly<Val::uint>("_+_", a.as_uint(), b.as_uint(), kAdd);
    if (a.is(Kind::Double)) return Val::real(a.as_double() + b.as_double());
    if (a.is(Kind::String) || a.is(Kind::Bytes)) return add_texts(context, a, b);
    if (a.is(Kind::List)) return add_lists(context, a, b);
  }
  Val left;
  Val right;
  if (unify(context, a, b, left, right)) return add(context, left, right);
  return add_times(a, b);
}

Val subtract(CallContext& context, const Val& a, const Val& b) {
  if (a.kind() == b.kind()) {
    if (a.is(Kind::Int)) return exactly<Val::integer>("_-_", a.as_int(), b.as_int(), kSubtract);
    if (a.is(Kind::Uint)) return exactly<Val::uint>("_-_", a.as_uint(), b.as_uint(), kSubtract);
    if (a.is(Kind::Double)) return Val::real(a.as_double() - b.as_double());
  }
  Val left;
  Val right;
  if (unify(context, a, b, left, right)) return subtract(context, left, right);
  return subtract_times(a, b);
}

Val multiply(CallContext& context, const Val& a, const Val& b) {
  if (a.kind() == b.kind()) {
    if (a.is(Kind::Int)) return exactly<Val::integer>("_*_", a.as_int(), b.as_int(), kMultiply);
    if (a.is(Kind::Uint)) return exactly<Val::uint>("_*_", a.as_uint(), b.as_uint(), kMultiply);
    if (a.is(Kind::Double)) return Val::real(a.as_double() * b.as_double());
  }
  Val left;
  Val right;
  if (unify(context, a, b, left, right)) return multiply(context, left, right);
  return refuse("_*_", a, b);
}

Val divide(CallContext& context, const Val& a, const Val& b) {
  if (a.kind() == b.kind()) {
    if (a.is(Kind::Int)) {
      if (b.as_int() == 0) return Val::error("divide by zero");
      if (a.as_int() == INT64_MIN && b.as_int() == -1) return overflow("_/_");
      return Val::integer(a.as_int() / b.as_int());
    }
    if (a.is(Kind::Uint)) {
      if (b.as_uint() == 0) return Val::error("divide by zero");
      return Val::uint(a.as_uint() / b.as_uint());
    }
    if (a.is(Kind::Double)) return Val::real(a.as_double() / b.as_double());
  }
  Val left;
  Val right;
  if (unify(context, a, b, left, right)) return divide(context, left, right);
  return refuse("_/_", a, b);
}

Val modulo(CallContext& context, const Val& a, const Val& b) {
  if (a.kind() == b.kind()) {
    if (a.is(Kind::Int)) {
      if (b.as_int() == 0) return Val::error("modulus by zero");
      if (a.as_int() == INT64_MIN && b.as_int() == -1) return overflow("_%_");
      return Val::integer(a.as_int() % b.as_int());
    }
    if (a.is(Kind::Uint)) {
      if (b.as_uint() == 0) return Val::error("modulus by zero");
      return Val::uint(a.as_uint() % b.as_uint());
    }
    if (a.is(Kind::Double) && context.mixed_arithmetic)
      return Val::real(std::fmod(a.as_double(), b.as_double()));
  }
  Val left;
  Val right;
  if (unify(context, a, b, left, right)) return modulo(context, left, right);
  return refuse("_%_", a, b);
}

Val negate(const Val& a) {
  if (a.is(Kind::Int)) return a.as_int() == INT64_MIN ? overflow("-_") : Val::integer(-a.as_int());
  if (a.is(Kind::Double)) return Val::real(-a.as_double());
  return no_overload("-_", {&a, 1});
}

}  // namespace pawl::expr
