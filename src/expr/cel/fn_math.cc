// math.*: greatest least ceil floor round trunc abs sign sqrt isNaN isInf isFinite, and the bit
// operations.
#include <cmath>

#include "expr/cel/compare.h"
#include "expr/cel/functions.h"

namespace pawl::expr {
namespace {

// The extreme of all arguments, or of one list. On ties the first stays.
Val extreme(CallContext& context, Arguments args, bool greatest) {
  const std::string_view name = greatest ? "math.greatest" : "math.least";
  const bool from_list = args.size() == 1 && args[0].is(Kind::List);
  const size_t size = from_list ? args[0].list_size() : args.size();
  if (!context.budget.spend_steps(size)) return exhausted();
  if (size == 0)
    return Val::error(std::string(name) + "() expects a list with at least one number");
  Val best;
  for (size_t i = 0; i < size; ++i) {
    const Val value = from_list ? args[0].list_at(i) : args[i];
    if (!value.is_number()) return no_overload(name, {&value, 1});
    if (best.is_absent() || compare(value, best) == (greatest ? Order::Greater : Order::Less))
      best = value;
  }
  return best;
}

Val greatest(CallContext& context, Arguments args) { return extreme(context, args, true); }
Val least(CallContext& context, Arguments args) { return extreme(context, args, false); }

template <double (*kRound)(double)>
Val rounded(CallContext&, Arguments args) {
  return args[0].is(Kind::Double) ? Val::real(kRound(args[0].as_double()))
                                  : no_overload("math rounding", args);
}
double ceil_of(double x) { return std::ceil(x); }
double floor_of(double x) { return std::floor(x); }
double round_of(double x) { return std::round(x); }
double trunc_of(double x) { return std::trunc(x); }

Val absolute(CallContext&, Arguments args) {
  const Val& x = args[0];
  if (x.is(Kind::Uint)) return x;
  if (x.is(Kind::Double)) return Val::real(std::fabs(x.as_double()));
  if (!x.is(Kind::Int)) return no_overload("math.abs", args);
  if (x.as_int() == INT64_MIN) return Val::error("overflow: math.abs of the smallest int");
  return Val::integer(x.as_int() < 0 ? -x.as_int() : x.as_int());
}

Val sign(CallContext&, Arguments args) {
  const Val& x = args[0];
  if (x.is(Kind::Uint)) return Val::uint(x.as_uint() > 0 ? 1 : 0);
  if (x.is(Kind::Int)) return Val::integer((x.as_int() > 0) - (x.as_int() < 0));
  if (!x.is(Kind::Double)) return no_overload("math.sign", args);
  if (std::isnan(x.as_double())) return x;
  return Val::real((x.as_double() > 0) - (x.as_double() < 0));
}

Val square_root(CallContext&, Arguments args) {
  const Val& x = args[0];
  if (x.is(Kind::Double)) return Val::real(std::sqrt(x.as_double()));
  if (x.is(Kind::Int)) return Val::real(std::sqrt(static_cast<double>(x.as_int())));
  if (x.is(Kind::Uint)) return Val::real(std::sqrt(static_cast<double>(x.as_uint())));
  return no_overload("math.sqrt", args);
}

Val is_nan(CallContext&, Arguments args) {
  return args[0].is(Kind::Double) ? Val::boolean(std::isnan(args[0].as_double()))
                                  : no_overload("math.isNaN", args);
}
Val is_inf(CallContext&, Arguments args) {
  return args[0].is(Kind::Double) ? Val::boolean(std::isinf(args[0].as_double()))
                                  : no_overload("math.isInf", args);
}
Val is_finite(CallContext&, Arguments args) {
  return args[0].is(Kind::Double) ? Val::boolean(std::isfinite(args[0].as_double()))
                                  : no_overload("math.isFinite", args);
}

enum class Bits { And, Or, Xor };
template <Bits kOp>
Val bitwise(CallContext&, Arguments args) {
  if (args[0].kind() != args[1].kind() || (!args[0].is(Kind::Int) && !args[0].is(Kind::Uint))) {
    return no_overload("math bit operation", args);
  }
  const uint64_t a = args[0].as_uint();
  const uint64_t b = args[1].as_uint();
  const uint64_t result = kOp == Bits::And ? a & b : kOp == Bits::Or ? a | b : a ^ b;
  return args[0].is(Kind::Int) ? Val::integer(static_cast<int64_t>(result)) : Val::uint(result);
}

Val bit_not(CallContext&, Arguments args) {
  if (args[0].is(Kind::Int)) return Val::integer(~args[0].as_int());
  return args[0].is(Kind::Uint) ? Val::uint(~args[0].as_uint()) : no_overload("math.bitNot", args);
}

// The sign bit moves like any other; vacant bits are 0.
template <bool kLeft>
Val shift(CallContext&, Arguments args) {
  if ((!args[0].is(Kind::Int) && !args[0].is(Kind::Uint)) || !args[1].is(Kind::Int))
    return no_overload("math bit shift", args);
  const int64_t by = args[1].as_int();
  if (by < 0) return Val::error("negative offset: math bit shift by " + std::to_string(by));
  const uint64_t bits = args[0].as_uint();
  const uint64_t result = by >= 64 ? 0 : kLeft ? bits << by : bits >> by;
  return args[0].is(Kind::Int) ? Val::integer(static_cast<int64_t>(result)) : Val::uint(result);
}

constexpr Function kMathFunctions[] = {
    {"math.greatest", greatest, 1, 255, false},
    {"math.least", least, 1, 255, false},
    {"math.ceil", rounded<ceil_of>, 1, 1, false},
    {"math.floor", rounded<floor_of>, 1, 1, false},
    {"math.round", rounded<round_of>, 1, 1, false},
    {"math.trunc", rounded<trunc_of>, 1, 1, false},
    {"math.abs", absolute, 1, 1, false},
    {"math.sign", sign, 1, 1, false},
    {"math.sqrt", square_root, 1, 1, false},
    {"math.isNaN", is_nan, 1, 1, false},
    {"math.isInf", is_inf, 1, 1, false},
    {"math.isFinite", is_finite, 1, 1, false},
    {"math.bitAnd", bitwise<Bits::And>, 2, 2, false},
    {"math.bitOr", bitwise<Bits::Or>, 2, 2, false},
    {"math.bitXor", bitwise<Bits::Xor>, 2, 2, false},
    {"math.bitNot", bit_not, 1, 1, false},
    {"math.bitShiftLeft", shift<true>, 2, 2, false},
    {"math.bitShiftRight", shift<false>, 2, 2, false},
};

}  // namespace

std::span<const Function> math_functions() { return kMathFunctions; }

}  // namespace pawl::expr
