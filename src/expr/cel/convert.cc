#include "expr/cel/convert.h"

#include <cmath>

#include "expr/cel/functions.h"
#include "expr/cel/network.h"
#include "expr/cel/time_text.h"
#include "expr/text.h"

namespace pawl::expr {
namespace {

Error spent() {
  return Error{ErrorCode::TooLarge, "the value is larger than the evaluation budget allows"};
}

Error unsayable(const std::string& what) {
  return Error{ErrorCode::InvalidContent, "JSON cannot represent " + what};
}

std::string base64(std::string_view octets) {
  Budget budget(BudgetLimits{.steps_max = UINT64_MAX, .bytes_max = UINT64_MAX});
  CallContext context{budget};
  const Val argument = Val::bytes(std::string(octets));
  return std::string(
      find_function("base64.encode", false, 1)->body(context, {&argument, 1}).as_string());
}

Result<Value> map_to_json(const Val& map, Budget& budget) {
  Value::Object members;
  for (size_t i = 0; i < map.map_size(); ++i) {
    const auto [key, value] = map.map_at(i);
    const std::string name = key_text(key);
    if (!budget.spend_bytes(name.size() + 64)) return spent();
    if (members.contains(name)) return unsayable("a map in which two keys read '" + name + "'");
    PAWL_TRY(Value member, to_json(value, budget));
    members.set(name, std::move(member));
  }
  return Value(std::move(members));
}

Result<Value> list_to_json(const Val& list, Budget& budget) {
  Value::Array elements;
  for (size_t i = 0; i < list.list_size(); ++i) {
    if (!budget.spend_bytes(sizeof(Value))) return spent();
    PAWL_TRY(Value element, to_json(list.list_at(i), budget));
    elements.push_back(std::move(element));
  }
  return Value(std::move(elements));
}

}  // namespace

std::string key_text(const Val& key) {
  if (key.is(Kind::String)) return std::string(key.as_string());
  if (key.is(Kind::Int)) return std::to_string(key.as_int());
  if (key.is(Kind::Uint)) return std::to_string(key.as_uint());
  if (key.is(Kind::Bool)) return key.as_bool() ? "true" : "false";
  return std::string(type_name(key.kind()));
}

Result<Value> to_json(const Val& value, Budget& budget) {
  if (!budget.spend_steps(1)) return spent();
  switch (value.kind()) {
    case Kind::Null:
      return Value();
    case Kind::Bool:
      return Value(value.as_bool());
    case Kind::Int:
      return Value(value.as_int());
    case Kind::Uint:
      if (value.as_uint() > static_cast<uint64_t>(INT64_MAX))
        return unsayable("an integer above 2^63 - 1 exactly");
      return Value(static_cast<int64_t>(value.as_uint()));
    case Kind::Double:
      if (!std::isfinite(value.as_double())) return unsayable("NaN or an infinity");
      return Value(value.as_double());
    case Kind::String:
      if (!budget.spend_bytes(value.as_string().size())) return spent();
      return Value(std::string(value.as_string()));
    case Kind::Bytes:
      if (!budget.spend_bytes(value.as_string().size() * 2)) return spent();
      return Value(base64(value.as_string()));
    case Kind::List:
      return list_to_json(value, budget);
    case Kind::Map:
      return map_to_json(value, budget);
    case Kind::Type:
      return Value(type_name(value.as_type()));
    case Kind::Timestamp:
      return Value(format_timestamp(value.seconds(), value.nanos()));
    case Kind::Duration:
      return Value(format_duration(value.duration_ns()));
    case Kind::Optional:
      return value.has_value() ? to_json(value.optional_value(), budget) : Value();
    case Kind::Ip:
      return Value(format_ip(value.as_ip()));
    case Kind::Cidr:
      return Value(format_ip(value.as_cidr().address) + "/" +
                   std::to_string(value.as_cidr().prefix));
    case Kind::Error:
      return Error{ErrorCode::InvalidContent, value.as_error().message};
    case Kind::Absent:
      break;
  }
  return Error{ErrorCode::Internal, "there is no value"};
}

Result<std::string> to_text(const Val& value, Budget& budget) {
  if (value.is(Kind::Double)) return format_plain(value.as_double());
  if (value.is(Kind::Uint)) return std::to_string(value.as_uint());
  PAWL_TRY(Value json, to_json(value, budget));
  std::string text = json.is_string() ? json.as_string() : json.json();
  if (!budget.spend_bytes(text.size())) return spent();
  return text;
}

}  // namespace pawl::expr
