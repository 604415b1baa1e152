#include "actions/params_judge.h"

#include <algorithm>
#include <vector>

#include "actions/action.h"
#include "actions/params_check.h"
#include "base/quote.h"
#include "expr/template/template.h"
#include "plan/findings.h"
#include "plan/nearest.h"

namespace pawl::actions {
namespace {

constexpr int kJudgeDepthMax = 16;

bool is_open(const Value& value) {
  return value.is_string() && expr::has_template(value.as_string());
}

std::vector<std::string_view> names_of(const Value& object) {
  std::vector<std::string_view> names;
  for (const Value::Member& member : object.as_object()) names.push_back(member.key);
  return names;
}

std::string list_of(const Value& values) {
  std::string text;
  for (const Value& one : values.as_array())
    text += (text.empty() ? "" : ", ") + (one.is_string() ? one.as_string() : one.json());
  return text;
}

class Judge {
 public:
  Judge(std::string_view action, plan::Findings& findings) : action_(action), findings_(findings) {}

  void members(const Value& schema, const plan::Cursor& at, int depth) {
    const Value* properties = schema.find("properties");
    const Value* others = schema.find("additionalProperties");
    const Value::Object& given = at.value().as_object();
    for (size_t i = 0; i < given.size() && !findings_.full(); ++i) {
      const std::string& name = given.at(i).key;
      const Value* known = properties == nullptr ? nullptr : properties->find(name);
      if (known == nullptr && others == nullptr && properties != nullptr) {
        findings_.complaint(at.member(i), "unknown_field",
                            std::string(action_) + " has no parameter " + in_quotes(name),
                            plan::meant(name, names_of(*properties)));
        continue;
      }
      if (known == nullptr) known = others;
      bool unset = given.at(i).value.is_null() && !needs(schema, name);
      if (known != nullptr && known->is_object() && !unset) value(*known, at.member(i), depth + 1);
    }
    missing(schema, at, given);
  }

  void missing(const Value& schema, const plan::Cursor& at, const Value::Object& given) {
    const Value* required = schema.find("required");
    if (required == nullptr || !required->is_array()) return;
    for (const Value& name : required->as_array())
      if (name.is_string() && !given.contains(name.as_string())) miss(at, name.as_string());
  }

  void miss(const plan::Cursor& at, std::string_view name) {
    findings_.complaint(at.absent(name), "required",
                        std::string(action_) + " needs the parameter " + in_quotes(name));
  }

 private:
  static bool needs(const Value& schema, const std::string& name) {
    const Value* required = schema.find("required");
    if (required == nullptr || !required->is_array()) return false;
    const auto& names = required->as_array();
    return std::find(names.begin(), names.end(), Value(name)) != names.end();
  }

  void value(const Value& schema, const plan::Cursor& at, int depth) {
    if (depth > kJudgeDepthMax || is_open(at.value())) return;
    Value seen = at.is_object() || at.is_array() ? Value() : turned(schema, at.value());
    const Value& now = at.is_object() || at.is_array() ? at.value() : seen;
    if (const Value* type = schema.find("type"); type != nullptr && !accepts_kind(schema, now)) {
      std::string kinds = type->is_array() ? list_of(*type) : type->as_string();
      return findings_.complaint(
          at, "type",
          "must be of type " + kinds + ", not " + std::string(plan::kind_name(at.value())));
    }
    range(schema, at, now);
    if (now.is_object()) return members(schema, at, depth);
    const Value* items = schema.find("items");
    if (!now.is_array() || items == nullptr) return;
    for (size_t i = 0; i < now.as_array().size() && !findings_.full(); ++i)
      value(*items, at.element(i), depth + 1);
  }

  void range(const Value& schema, const plan::Cursor& at, const Value& now) {
    if (const Value* allowed = schema.find("enum")) {
      const auto& values = allowed->as_array();
      if (std::find(values.begin(), values.end(), now) == values.end()) {
        std::vector<std::string_view> names;
        for (const Value& one : values)
          if (one.is_string()) names.push_back(one.as_string());
        std::string_view given = now.is_string() ? std::string_view(now.as_string()) : "";
        findings_.complaint(at, "value", "must be one of " + list_of(*allowed),
                            plan::meant(given, names));
      }
    }
    const Value* shortest = schema.find("minLength");
    if (shortest != nullptr && now.is_string() && now.as_string().empty())
      findings_.complaint(at, "value", "cannot be empty");
    if (!now.is_number()) return;
    const Value* least = schema.find("minimum");
    const Value* most = schema.find("maximum");
    if ((least != nullptr && now.as_double() < least->as_double()) ||
        (most != nullptr && now.as_double() > most->as_double()))
      findings_.complaint(at, "value",
                          "must be" + (least == nullptr ? "" : " at least " + least->json()) +
                              (most == nullptr ? "" : " at most " + most->json()));
  }

  std::string_view action_;
  plan::Findings& findings_;
};

}  // namespace

void judge_params(std::string_view action, const plan::Cursor& step, const plan::Cursor* params,
                  plan::Findings& findings) {
  const ActionInfo* info = find_action(action);
  if (info == nullptr || !info->params_schema.is_object()) return;
  Judge judge(action, findings);
  static const Value::Object nothing;
  bool given = params != nullptr && params->is_object();
  if (given) {
    judge.members(info->params_schema, *params, 0);
  } else if (params == nullptr) {
    judge.missing(info->params_schema, step.absent("params"), nothing);
  } else {
    return;  // one template for all of them
  }
  std::span<const std::string_view> needed = needed_aliases(action);
  bool has_one = std::any_of(needed.begin(), needed.end(), [&](std::string_view name) {
    return given && params->field(name).has_value();
  });
  if (!needed.empty() && !has_one) judge.miss(given ? *params : step.absent("params"), needed[0]);
}

}  // namespace pawl::actions
