// A sample mock for a step without one.
#include "rehearse/stage.h"

namespace pawl::rehearse {
namespace {

std::string sample_of(const std::string& name, const Value& schema) {
  if (const Value* fixed = schema.find("const")) return fixed->json();
  const Value* type = schema.find("type");
  std::string kind = type != nullptr && type->is_string() ? type->as_string() : "";
  if (kind == "integer") return name == "status_code" ? "200" : "0";
  if (kind == "string") return "\"\"";
  if (kind == "boolean") return "false";
  if (kind == "array") return "[]";
  if (kind == "object") return "{}";
  return "null";
}

// The few members that definitions usually read.
bool is_telling(std::string_view action, const std::string& name) {
  if (action.substr(0, 5) == "http.") return name == "status_code" || name == "body";
  if (action == "shell.exec") return name == "stdout" || name == "exit_code";
  return true;
}

}  // namespace

std::string sample_mock(std::string_view key, std::string_view action) {
  std::string result;
  const actions::ActionInfo* info = actions::find_action(action);
  const Value* properties = info == nullptr ? nullptr : info->output_schema.find("properties");
  if (properties != nullptr)
    for (const Value::Member& member : properties->as_object()) {
      if (!is_telling(action, member.key)) continue;
      result += (result.empty() ? "" : ", ") + member.key + ": ";
      result += action == "shell.exec" && member.key == "stdout"
                    ? "\"\""
                    : sample_of(member.key, member.value);
    }
  return std::string(key) + ": {result: {" + result + "}}";
}

}  // namespace pawl::rehearse
