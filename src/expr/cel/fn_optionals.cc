// optional.of none ofNonZeroValue unwrap, x.hasValue() x.value(). or() and orValue() are operators:
// they must not evaluate what they do not need.
#include "expr/cel/functions.h"

namespace pawl::expr {
namespace {

bool is_zero(const Val& value) {
  switch (value.kind()) {
    case Kind::Null:
      return true;
    case Kind::Bool:
      return !value.as_bool();
    case Kind::Int:
    case Kind::Uint:
      return value.as_uint() == 0;
    case Kind::Double:
      return value.as_double() == 0;
    case Kind::String:
    case Kind::Bytes:
      return value.as_string().empty();
    case Kind::List:
      return value.list_size() == 0;
    case Kind::Map:
      return value.map_size() == 0;
    case Kind::Duration:
      return value.duration_ns() == 0;
    case Kind::Timestamp:
      return value.seconds() == 0 && value.nanos() == 0;
    case Kind::Optional:
      return !value.has_value();
    case Kind::Type:
    case Kind::Ip:
    case Kind::Cidr:
    case Kind::Error:
    case Kind::Absent:
      return false;
  }
  return false;
}

Val of(CallContext&, Arguments args) { return Val::some(args[0]); }
Val none(CallContext&, Arguments) { return Val::none(); }
Val of_non_zero(CallContext&, Arguments args) {
  return is_zero(args[0]) ? Val::none() : Val::some(args[0]);
}

Val has_value(CallContext&, Arguments args) {
  return args[0].is(Kind::Optional) ? Val::boolean(args[0].has_value())
                                    : no_overload("hasValue", args);
}

Val value(CallContext&, Arguments args) {
  if (!args[0].is(Kind::Optional)) return no_overload("value", args);
  return args[0].has_value() ? args[0].optional_value() : Val::error("optional.none() dereference");
}

Val unwrap(CallContext& context, Arguments args) {
  if (!args[0].is(Kind::List)) return no_overload("optional.unwrap", args);
  if (!context.budget.spend_steps(args[0].list_size())) return exhausted();
  std::vector<Val> elements;
  for (size_t i = 0; i < args[0].list_size(); ++i) {
    const Val element = args[0].list_at(i);
    if (!element.is(Kind::Optional)) return no_overload("optional.unwrap", {&element, 1});
    if (element.has_value()) elements.push_back(element.optional_value());
  }
  return paid_list(context, std::move(elements));
}

constexpr Function kOptionalFunctions[] = {
    {"optional.of", of, 1, 1, false},
    {"optional.none", none, 0, 0, false},
    {"optional.ofNonZeroValue", of_non_zero, 1, 1, false},
    {"optional.unwrap", unwrap, 1, 1, false},
    {"unwrapOpt", unwrap, 0, 0, true},
    {"hasValue", has_value, 0, 0, true},
    {"value", value, 0, 0, true},
};

}  // namespace

std::span<const Function> optional_functions() { return kOptionalFunctions; }

}  // namespace pawl::expr
