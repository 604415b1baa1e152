#include <string>

#include "actions/action.h"
#include "actions/builtin_schemas.h"

namespace pawl::actions {
namespace {

Value object_schema(std::string_view properties, std::string_view required, bool open) {
  std::string text = R"({"type":"object","properties":)" + std::string(properties);
  if (required != "[]") text += R"(,"required":)" + std::string(required);
  if (open) text += R"(,"additionalProperties":true)";
  auto schema = Value::parse(text + "}");
  PAWL_CHECK(schema.ok());
  return std::move(schema).value();
}

std::vector<ActionInfo> build() {
  std::vector<ActionInfo> all;
  for (const BuiltinSchema& schema : kBuiltinSchemas) {
    ActionInfo info;
    info.name = schema.name;
    info.description = schema.description;
    info.pure = schema.pure;
    info.by_engine = schema.by_engine;
    // What else these two are given goes into the line.
    bool open = schema.name == "workflow.log" || schema.name == "workflow.notify";
    info.params_schema = object_schema(schema.params, schema.required, open);
    info.output_schema = object_schema(schema.output, "[]", false);
    all.push_back(std::move(info));
  }
  return all;
}

}  // namespace

const std::vector<ActionInfo>& builtin_actions() {
  static const std::vector<ActionInfo> all = build();
  return all;
}

const ActionInfo* find_action(std::string_view name) {
  for (const ActionInfo& info : builtin_actions())
    if (info.name == name) return &info;
  return nullptr;
}

}  // namespace pawl::actions
