#include <re2/re2.h>

#include "actions/pure_actions.h"
#include "actions/value_text.h"
#include "expr/json_schema.h"

namespace pawl::actions {
namespace {

constexpr int64_t kRegexBytesMax = 8 << 20;

ActionOutcome pass() { return ActionOutcome::success(Value::Object{{"pass", true}}); }

ActionOutcome assertion_failed(const Value& params, std::string_view otherwise, Value details) {
  std::string message = string_param(params, "message");
  auto outcome = ActionOutcome::failure("ASSERTION_FAILED",
                                        message.empty() ? std::string(otherwise) : message, false);
  outcome.details = std::move(details);
  return outcome;
}

// Text on exactly one side is compared as text: an interpolated number may have lost its kind.
bool equal(const Value& a, const Value& b) {
  if (a == b) return true;
  if (a.is_string() == b.is_string()) return false;
  auto left = scalar_text(a), right = scalar_text(b);
  return left && right && *left == *right;
}

}  // namespace

ActionOutcome assert_equals(const ActionRequest& request) {
  const Value& expected = *request.params.find("expected");
  const Value& actual = *request.params.find("actual");
  if (equal(expected, actual)) return pass();
  return assertion_failed(request.params, "assertion failed: values are not equal",
                          Value::Object{{"expected", expected}, {"actual", actual}});
}

ActionOutcome assert_contains(const ActionRequest& request) {
  const Value& haystack = *request.params.find("haystack");
  const Value& needle = *request.params.find("needle");
  bool found = false;
  if (haystack.is_string()) {
    found = haystack.as_string().find(text_of(needle)) != std::string::npos;
  } else {
    for (const Value& element : haystack.as_array()) found = found || equal(element, needle);
  }
  if (found) return pass();
  return assertion_failed(request.params, "assertion failed: value not found",
                          Value::Object{{"haystack", haystack}, {"needle", needle}});
}

ActionOutcome assert_matches(const ActionRequest& request) {
  std::string value = string_param(request.params, "value");
  std::string pattern = string_param(request.params, "pattern");
  re2::RE2::Options options(re2::RE2::Quiet);
  options.set_max_mem(kRegexBytesMax);
  re2::RE2 regex(pattern, options);
  if (!regex.ok())
    return ActionOutcome::failure("VALIDATION_ERROR", "the pattern is no RE2: " + regex.error(),
                                  false);
  re2::StringPiece match;
  if (regex.Match(value, 0, value.size(), re2::RE2::UNANCHORED, &match, 1))
    return ActionOutcome::success(
        Value::Object{{"pass", true}, {"matches", std::string(match.data(), match.size())}});
  return assertion_failed(request.params, "assertion failed: value does not match the pattern",
                          Value::Object{{"value", value}, {"pattern", pattern}});
}

ActionOutcome assert_schema(const ActionRequest& request) {
  auto schema = expr::JsonSchema::compile(*request.params.find("schema"));
  if (!schema.ok())
    return ActionOutcome::failure("VALIDATION_ERROR", "schema: " + schema.error().message, false);
  auto faults = (*schema)->check(*request.params.find("data"));
  if (faults.empty()) return pass();
  Value::Array violations;
  for (const auto& fault : faults)
    violations.push_back(Value::Object{
        {"path", fault.path}, {"keyword", fault.keyword}, {"message", fault.message}});
  return assertion_failed(request.params, "assertion failed: data does not match the schema",
                          Value::Object{{"violations", std::move(violations)}});
}

}  // namespace pawl::actions
