// Builtins on numbers.
#include <cmath>
#include <limits>

#include "expr/jq/machine.h"

namespace pawl::expr::jq {
namespace {

bool demand_number(Machine& m, const Datum& value) {
  return value.is_number() || m.raise(described(value, m.budget) + " number required");
}

template <double (*F)(double)>
bool unary(Machine& m, const Datum& in, Arguments, Datum& out) {
  if (!demand_number(m, in)) return false;
  out = number(F(in.as_double()));
  return true;
}

// Integers are their own floor, exactly.
template <double (*F)(double)>
bool rounding(Machine& m, const Datum& in, Arguments args, Datum& out) {
  if (!in.is_int()) return unary<F>(m, in, args, out);
  out = in;
  return true;
}

template <double (*F)(double, double)>
bool binary(Machine& m, const Datum&, Arguments args, Datum& out) {
  if (!demand_number(m, args[0]) || !demand_number(m, args[1])) return false;
  out = number(F(args[0].as_double(), args[1].as_double()));
  return true;
}

double exp10_of(double x) { return std::pow(10.0, x); }
double scalb_of(double x, double e) {
  return std::ldexp(x, static_cast<int>(std::fmax(-5000, std::fmin(5000, std::isnan(e) ? 0 : e))));
}
double significand_of(double x) {
  if (x == 0 || !std::isfinite(x)) return x;
  return std::ldexp(x, -std::ilogb(x));
}
double logb_of(double x) { return std::logb(x); }

bool pow_of(Machine& m, const Datum& in, Arguments args, Datum& out) {
  if (!demand_number(m, args[0]) || !demand_number(m, args[1])) return false;
  if (args[0].is_int() && args[1].is_int() && args[1].as_int() >= 0 && args[1].as_int() < 64) {
    int64_t result = 1;
    bool overflow = false;
    for (int64_t i = 0; i < args[1].as_int() && !overflow; ++i)
      overflow = __builtin_mul_overflow(result, args[0].as_int(), &result);
    if (!overflow) {
      out = Datum::integer(result);
      return true;
    }
  }
  return binary<std::pow>(m, in, args, out);
}

bool absolute(Machine& m, const Datum& in, Arguments args, Datum& out) {
  if (!in.is_number()) return m.raise(described(in, m.budget) + " has no absolute value");
  if (!in.is_int() || in.as_int() == INT64_MIN) return unary<std::fabs>(m, in, args, out);
  out = Datum::integer(in.as_int() < 0 ? -in.as_int() : in.as_int());
  return true;
}

bool infinite(Machine&, const Datum&, Arguments, Datum& out) {
  out = Datum::real(std::numeric_limits<double>::infinity());
  return true;
}
bool nan(Machine&, const Datum&, Arguments, Datum& out) {
  out = Datum::real(std::numeric_limits<double>::quiet_NaN());
  return true;
}
template <bool (*F)(double)>
bool test_number(Machine& m, const Datum& in, Arguments, Datum& out) {
  if (!demand_number(m, in)) return false;
  out = Datum::boolean(F(in.as_double()));
  return true;
}
bool is_infinite(double x) { return std::isinf(x); }
bool is_nan(double x) { return std::isnan(x); }
bool is_normal(double x) { return std::isnormal(x); }

bool frexp_of(Machine& m, const Datum& in, Arguments, Datum& out) {
  if (!demand_number(m, in)) return false;
  int exponent = 0;
  const double fraction = std::frexp(in.as_double(), &exponent);
  out = Datum::array({number(fraction), Datum::integer(exponent)}, m.budget);
  return true;
}
bool modf_of(Machine& m, const Datum& in, Arguments, Datum& out) {
  if (!demand_number(m, in)) return false;
  double whole = 0;
  const double fraction = std::modf(in.as_double(), &whole);
  out = Datum::array({number(fraction), number(whole)}, m.budget);
  return true;
}

}  // namespace

std::vector<NativeEntry> math_natives() {
  return {
      {"floor", 0, rounding<std::floor>},
      {"ceil", 0, rounding<std::ceil>},
      {"round", 0, rounding<std::round>},
      {"trunc", 0, rounding<std::trunc>},
      {"rint", 0, rounding<std::rint>},
      {"nearbyint", 0, rounding<std::nearbyint>},
      {"abs", 0, absolute},
      {"fabs", 0, unary<std::fabs>},
      {"sqrt", 0, unary<std::sqrt>},
      {"cbrt", 0, unary<std::cbrt>},
      {"exp", 0, unary<std::exp>},
      {"exp2", 0, unary<std::exp2>},
      {"exp10", 0, unary<exp10_of>},
      {"expm1", 0, unary<std::expm1>},
      {"log", 0, unary<std::log>},
      {"log2", 0, unary<std::log2>},
      {"log10", 0, unary<std::log10>},
      {"log1p", 0, unary<std::log1p>},
      {"sin", 0, unary<std::sin>},
      {"cos", 0, unary<std::cos>},
      {"tan", 0, unary<std::tan>},
      {"asin", 0, unary<std::asin>},
      {"acos", 0, unary<std::acos>},
      {"atan", 0, unary<std::atan>},
      {"sinh", 0, unary<std::sinh>},
      {"cosh", 0, unary<std::cosh>},
      {"tanh", 0, unary<std::tanh>},
      {"asinh", 0, unary<std::asinh>},
      {"acosh", 0, unary<std::acosh>},
      {"atanh", 0, unary<std::atanh>},
      {"significand", 0, unary<significand_of>},
      {"logb", 0, unary<logb_of>},
      {"frexp", 0, frexp_of},
      {"modf", 0, modf_of},
      {"pow", 2, pow_of},
      {"atan2", 2, binary<std::atan2>},
      {"fmod", 2, binary<std::fmod>},
      {"fmin", 2, binary<std::fmin>},
      {"fmax", 2, binary<std::fmax>},
      {"hypot", 2, binary<std::hypot>},
      {"ldexp", 2, binary<scalb_of>},
      {"scalb", 2, binary<scalb_of>},
      {"infinite", 0, infinite},
      {"nan", 0, nan},
      {"isinfinite", 0, test_number<is_infinite>},
      {"isnan", 0, test_number<is_nan>},
      {"isnormal", 0, test_number<is_normal>},
  };
}

}  // namespace pawl::expr::jq
