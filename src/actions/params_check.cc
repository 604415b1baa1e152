// Checks parameters against their schema: first the types that text interpolation loses are
// restored, then the schema is applied.
#include "actions/params_check.h"

#include <algorithm>
#include <map>
#include <optional>

#include "actions/action.h"
#include "actions/value_text.h"
#include "base/quote.h"
#include "base/read_number.h"
#include "expr/schema/json_schema.h"

namespace pawl::actions {
namespace {

constexpr size_t kFaultsMax = 10;
constexpr int kCheckDepthMax = 16;  // of schemas whose members are converted

bool declares(const Value& schema, std::string_view type) {
  const Value* declared = schema.find("type");
  if (declared == nullptr) return false;
  if (declared->is_string()) return declared->as_string() == type;
  if (!declared->is_array()) return false;
  const auto& types = declared->as_array();
  return std::any_of(types.begin(), types.end(),
                     [&](const Value& one) { return one.is_string() && one.as_string() == type; });
}

}  // namespace

bool accepts_kind(const Value& schema, const Value& value) {
  switch (value.kind()) {
    case Value::Kind::Null:
      return declares(schema, "null");
    case Value::Kind::Bool:
      return declares(schema, "boolean");
    case Value::Kind::Int:
      return declares(schema, "integer") || declares(schema, "number");
    case Value::Kind::Double:
      return declares(schema, "number") || declares(schema, "integer");
    case Value::Kind::String:
      return declares(schema, "string");
    case Value::Kind::Array:
      return declares(schema, "array");
    case Value::Kind::Object:
      return declares(schema, "object");
  }
  return false;
}

namespace {

std::optional<Value> from_text(const Value& schema, const std::string& text) {
  if (declares(schema, "boolean") && (text == "true" || text == "false"))
    return Value(text == "true");
  if (!declares(schema, "integer") && !declares(schema, "number")) return std::nullopt;
  int64_t whole = 0;
  if (read_number(text, whole)) return Value(whole);
  if (!declares(schema, "number")) return std::nullopt;
  auto parsed = Value::parse(text);
  if (parsed.ok() && parsed->is_number()) return std::move(parsed).value();
  return std::nullopt;
}

bool is_required(const Value& schema, std::string_view name) {
  const Value* required = schema.find("required");
  if (required == nullptr || !required->is_array()) return false;
  const auto& names = required->as_array();
  return std::any_of(names.begin(), names.end(),
                     [&](const Value& one) { return one.is_string() && one.as_string() == name; });
}

const Value* member_schema(const Value& schema, std::string_view name) {
  if (const Value* properties = schema.find("properties"))
    if (const Value* found = properties->find(name)) return found;
  return schema.find("additionalProperties");
}

void turn(const Value& schema, Value& value, int depth) {
  if (!schema.is_object() || depth > kCheckDepthMax) return;
  if (schema.find("type") != nullptr && !accepts_kind(schema, value)) {
    if (value.is_string()) {
      if (auto turned = from_text(schema, value.as_string())) value = std::move(*turned);
    } else if (declares(schema, "string")) {
      if (auto text = scalar_text(value)) value = std::move(*text);
    }
  }
  if (value.is_array()) {
    if (const Value* items = schema.find("items"))
      for (Value& element : value.as_array()) turn(*items, element, depth + 1);
  }
  if (!value.is_object()) return;
  std::vector<std::string> unset;  // null for something optional means: not given
  Value::Object& object = value.as_object();
  for (size_t i = 0; i < object.size(); ++i) {
    const std::string& name = object.at(i).key;
    const Value* its = member_schema(schema, name);
    if (its == nullptr || !its->is_object()) continue;
    Value& member = object.value_at(i);
    bool typed = its->find("type") != nullptr;
    if (member.is_null() && typed && !declares(*its, "null") && !is_required(schema, name)) {
      unset.push_back(name);
      continue;
    }
    turn(*its, member, depth + 1);
  }
  for (const std::string& name : unset) object.erase(name);
}

using Compiled = std::shared_ptr<const expr::JsonSchema>;

// The built-in ones are compiled once.
Result<Compiled> compiled(const ActionInfo& info) {
  static const std::map<const ActionInfo*, Compiled> builtin = [] {
    std::map<const ActionInfo*, Compiled> all;
    for (const ActionInfo& one : builtin_actions()) {
      auto schema = expr::JsonSchema::compile(one.params_schema);
      PAWL_CHECK(schema.ok());
      all.emplace(&one, std::move(schema).value());
    }
    return all;
  }();
  if (auto at = builtin.find(&info); at != builtin.end()) return at->second;
  return expr::JsonSchema::compile(info.params_schema);
}

Status check_aliases(const ActionInfo& info, const Value& params) {
  std::span<const std::string_view> needed = needed_aliases(info.name);
  for (std::string_view name : needed)
    if (const Value* given = params.find(name); given != nullptr && !given->is_null())
      return ok_status();
  if (needed.empty()) return ok_status();
  return Error{ErrorCode::InvalidContent,
               info.name + ": " + std::string(needed[0]) + " is required"};
}

}  // namespace

// Other names for the same parameter in existing definitions.
std::span<const std::string_view> needed_aliases(std::string_view action) {
  static constexpr std::string_view kEmit[] = {"event_type", "event", "signal"};
  static constexpr std::string_view kRun[] = {"template_name", "definition", "name"};
  static constexpr std::string_view kFail[] = {"reason", "message"};
  if (action == "workflow.emit") return kEmit;
  if (action == "workflow.run") return kRun;
  if (action == "workflow.fail") return kFail;
  return {};
}

Value turned(const Value& schema, Value value) {
  turn(schema, value, 0);
  return value;
}

Status check_params(const ActionInfo& info, Value& params) {
  if (params.is_null()) params = Value::Object();
  if (!params.is_object())
    return Error{ErrorCode::InvalidContent, info.name + ": the parameters must be an object"};
  if (info.params_schema.is_null()) return ok_status();
  turn(info.params_schema, params, 0);
  PAWL_TRY(Compiled schema, compiled(info));
  auto faults = schema->check(params, kFaultsMax);
  if (faults.empty()) return check_aliases(info, params);
  Error error{ErrorCode::InvalidContent, info.name + ":"};
  for (const auto& fault : faults) {
    error.message += error.complaints.empty() ? " " : "; ";
    if (!fault.path.empty()) error.message += fault.path + ": ";
    error.message += fault.message;
    error.complaints.push_back({fault.path, fault.message, fault.keyword});
  }
  return error;
}

std::vector<std::string> unknown_params(const ActionInfo& info, const Value& params) {
  std::vector<std::string> unknown;
  const Value* properties = info.params_schema.find("properties");
  const Value* others = info.params_schema.find("additionalProperties");
  if (!params.is_object() || properties == nullptr || others != nullptr) return unknown;
  for (const auto& [name, value] : params.as_object())
    if (properties->find(name) == nullptr) unknown.push_back(name);
  return unknown;
}

}  // namespace pawl::actions
