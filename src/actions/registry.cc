#include <string>

#include "actions/action.h"
#include "plan/builtin_actions.h"

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
  for (const plan::BuiltinAction& schema : plan::kBuiltinActions) {
    ActionInfo info;
    info.name = schema.name;
    info.description = schema.description;
    info.pure =
        schema.kind == plan::ActionKind::Pure || schema.kind == plan::ActionKind::Evaluation;
    info.by_engine = plan::is_done_by_run(schema.kind);
    // Other parameters of these two become data of the line.
    bool open = schema.kind == plan::ActionKind::Log || schema.kind == plan::ActionKind::Notify;
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
