// int() uint() double() string() bytes() bool() dyn() type() timestamp() duration() size().
#include <charconv>
#include <cmath>

#include "base/read_number.h"
#include "expr/cel/functions.h"
#include "expr/cel/network.h"
#include "expr/cel/time_text.h"
#include "expr/text.h"

namespace pawl::expr {
namespace {

Val range_error(std::string_view type) {
  return Val::error("range error: the value does not fit " + std::string(type));
}

Val conversion_error(const Val& from, std::string_view to) {
  return Val::error("Type conversion error: cannot read '" +
                    std::string(from.as_string().substr(0, 64)) + "' as " + std::string(to));
}

bool parse_integer(std::string_view text, auto& value) {
  if (text.size() > 1 && text[0] == '+') text.remove_prefix(1);
  if (text.empty() || text[0] == '+') return false;
  return read_number(text, value);
}

Val to_int(CallContext&, Arguments args) {
  const Val& from = args[0];
  if (from.is(Kind::Int)) return from;
  if (from.is(Kind::Uint)) {
    return from.as_uint() <= static_cast<uint64_t>(INT64_MAX)
               ? Val::integer(static_cast<int64_t>(from.as_uint()))
               : range_error("int");
  }
  if (from.is(Kind::Double)) {
    // 2^63 rounds up from INT64_MAX, so neither end of the open interval is reachable exactly.
    const double value = from.as_double();
    if (!(value > -9223372036854775808.0 && value < 9223372036854775808.0))
      return range_error("int");
    return Val::integer(static_cast<int64_t>(value));
  }
  if (from.is(Kind::String)) {
    int64_t value = 0;
    return parse_integer(from.as_string(), value) ? Val::integer(value)
                                                  : conversion_error(from, "int");
  }
  if (from.is(Kind::Timestamp)) return Val::integer(from.seconds());
  if (from.is(Kind::Duration)) return Val::integer(from.duration_ns() / kNanosPerSecond);
  return no_overload("int", args);
}

Val to_uint(CallContext&, Arguments args) {
  const Val& from = args[0];
  if (from.is(Kind::Uint)) return from;
  if (from.is(Kind::Int))
    return from.as_int() >= 0 ? Val::uint(static_cast<uint64_t>(from.as_int()))
                              : range_error("uint");
  if (from.is(Kind::Double)) {
    const double value = from.as_double();
    if (!(value >= 0 && value < 18446744073709551616.0)) return range_error("uint");
    return Val::uint(static_cast<uint64_t>(value));
  }
  if (from.is(Kind::String)) {
    uint64_t value = 0;
    return parse_integer(from.as_string(), value) ? Val::uint(value)
                                                  : conversion_error(from, "uint");
  }
  return no_overload("uint", args);
}

Val to_double(CallContext&, Arguments args) {
  const Val& from = args[0];
  if (from.is(Kind::Double)) return from;
  if (from.is(Kind::Int)) return Val::real(static_cast<double>(from.as_int()));
  if (from.is(Kind::Uint)) return Val::real(static_cast<double>(from.as_uint()));
  if (!from.is(Kind::String)) return no_overload("double", args);
  std::string_view text = from.as_string();
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || text[0] == '+' || end != text.data() + text.size() ||
      error == std::errc::invalid_argument) {
    return conversion_error(from, "double");
  }
  // Too small to represent reads as zero; too large is an error.
  if (error == std::errc::result_out_of_range) {
    value = std::strtod(std::string(text).c_str(), nullptr);
    if (!std::isfinite(value)) return range_error("double");
  }
  return Val::real(value);
}

Val to_string(CallContext& context, Arguments args) {
  const Val& from = args[0];
  switch (from.kind()) {
    case Kind::String:
      return from;
    case Kind::Bool:
      return Val::string(from.as_bool() ? "true" : "false");
    case Kind::Int:
      return paid_string(context, std::to_string(from.as_int()));
    case Kind::Uint:
      return paid_string(context, std::to_string(from.as_uint()));
    case Kind::Double:
      return paid_string(context, format_general(from.as_double()));
    case Kind::Bytes:
      if (!context.budget.spend_steps(from.as_string().size() / 16)) return exhausted();
      if (!is_utf8(from.as_string()))
        return Val::error("invalid UTF-8 in bytes, cannot convert to string");
      return paid_string(context, std::string(from.as_string()));
    case Kind::Timestamp:
      return paid_string(context, format_timestamp(from.seconds(), from.nanos()));
    case Kind::Duration:
      return paid_string(context, format_duration(from.duration_ns()));
    case Kind::Ip:
      return paid_string(context, format_ip(from.as_ip()));
    case Kind::Cidr:
      return paid_string(
          context, format_ip(from.as_cidr().address) + "/" + std::to_string(from.as_cidr().prefix));
    case Kind::Type:
      return paid_string(context, std::string(type_name(from.as_type())));
    case Kind::Null:
    case Kind::List:
    case Kind::Map:
    case Kind::Optional:
    case Kind::Error:
    case Kind::Absent:
      break;
  }
  return no_overload("string", args);
}

Val to_bytes(CallContext& context, Arguments args) {
  if (args[0].is(Kind::Bytes)) return args[0];
  if (!args[0].is(Kind::String)) return no_overload("bytes", args);
  if (!context.budget.spend_bytes(args[0].as_string().size() + 48)) return exhausted();
  return Val::bytes(std::string(args[0].as_string()));
}

Val to_bool(CallContext&, Arguments args) {
  if (args[0].is(Kind::Bool)) return args[0];
  if (!args[0].is(Kind::String)) return no_overload("bool", args);
  for (const std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"}) {
    if (args[0].as_string() == yes) return Val::boolean(true);
  }
  for (const std::string_view no : {"0", "f", "F", "false", "FALSE", "False"}) {
    if (args[0].as_string() == no) return Val::boolean(false);
  }
  return conversion_error(args[0], "bool");
}

Val to_timestamp(CallContext&, Arguments args) {
  if (args[0].is(Kind::Timestamp)) return args[0];
  if (args[0].is(Kind::Int)) return checked_timestamp(args[0].as_int(), 0);
  return args[0].is(Kind::String) ? parse_timestamp(args[0].as_string())
                                  : no_overload("timestamp", args);
}

Val to_duration(CallContext&, Arguments args) {
  if (args[0].is(Kind::Duration)) return args[0];
  if (args[0].is(Kind::Int)) {
    int64_t nanos = 0;
    if (__builtin_mul_overflow(args[0].as_int(), kNanosPerSecond, &nanos))
      return range_error("duration");
    return Val::duration(nanos);
  }
  return args[0].is(Kind::String) ? parse_duration(args[0].as_string())
                                  : no_overload("duration", args);
}

Val to_dyn(CallContext&, Arguments args) { return args[0]; }

Val type_of(CallContext&, Arguments args) { return Val::type(args[0].kind()); }

Val size(CallContext& context, Arguments args) {
  const Val& of = args[0];
  size_t count = 0;
  if (of.is(Kind::String)) {
    if (!context.budget.spend_steps(of.as_string().size() / 64)) return exhausted();
    count = count_code_points(of.as_string());
  } else if (of.is(Kind::Bytes)) {
    count = of.as_string().size();
  } else if (of.is(Kind::List)) {
    count = of.list_size();
  } else if (of.is(Kind::Map)) {
    count = of.map_size();
  } else {
    return no_overload("size", args);
  }
  return Val::integer(static_cast<int64_t>(count));
}

constexpr Function kConversionFunctions[] = {
    {"int", to_int, 1, 1, false},
    {"uint", to_uint, 1, 1, false},
    {"double", to_double, 1, 1, false},
    {"string", to_string, 1, 1, false},
    {"bytes", to_bytes, 1, 1, false},
    {"bool", to_bool, 1, 1, false},
    {"timestamp", to_timestamp, 1, 1, false},
    {"duration", to_duration, 1, 1, false},
    {"dyn", to_dyn, 1, 1, false},
    {"type", type_of, 1, 1, false},
    {"size", size, 1, 1, false},
    {"size", size, 0, 0, true},
};

}  // namespace

std::span<const Function> conversion_functions() { return kConversionFunctions; }

}  // namespace pawl::expr
