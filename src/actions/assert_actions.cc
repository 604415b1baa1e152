#include <re2/re2.h>

#include "actions/pure_actions.h"
#include "actions/value_text.h"
#include "expr/regex.h"
#include "expr/schema/json_schema.h"
#include "expr/text_search.h"

namespace pawl::actions {
namespace {

// PureAction reports it, with the figures.
ActionOutcome spent() { return {}; }

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

ActionOutcome assert_equals(const ActionRequest& request, expr::Budget&) {
  const Value& expected = *request.params.find("expected");
  const Value& actual = *request.params.find("actual");
  if (equal(expected, actual)) return pass();
  return assertion_failed(request.params, "assertion failed: values are not equal",
                          Value::Object{{"expected", expected}, {"actual", actual}});
}

ActionOutcome assert_contains(const ActionRequest& request, expr::Budget& budget) {
  const Value& haystack = *request.params.find("haystack");
  const Value& needle = *request.params.find("needle");
  bool found = false;
  if (haystack.is_string()) {
    const std::string part = text_of(needle);
    if (!budget.spend_steps(expr::price::scanning(haystack.as_string().size() + part.size())))
      return spent();
    found = expr::has_part(haystack.as_string(), part);
  } else {
    // If one of two is text, both are compared as text, which is built for each comparison.
    const uint64_t as_text =
        needle.is_string() ? 1 + expr::price::reading(needle.as_string().size()) : 1;
    for (const Value& element : haystack.as_array()) {
      if (!budget.spend_steps(element.is_string() == needle.is_string() ? 1 : as_text))
        return spent();
      found = equal(element, needle);
      if (found) break;
    }
  }
  if (found) return pass();
  return assertion_failed(request.params, "assertion failed: value not found",
                          Value::Object{{"haystack", haystack}, {"needle", needle}});
}

ActionOutcome assert_matches(const ActionRequest& request, expr::Budget& budget) {
  std::string value = string_param(request.params, "value");
  std::string pattern = string_param(request.params, "pattern");
  std::string error;
  const auto regex = expr::compile_regex(pattern, budget, error);
  if (budget.exceeded() != expr::Budget::Exceeded::None) return spent();
  if (regex == nullptr)
    return ActionOutcome::failure("VALIDATION_ERROR", "the pattern is no RE2: " + error, false);
  // Once forwards for its end, once backwards for its beginning.
  const auto size = static_cast<uint64_t>(regex->ProgramSize());
  if (!budget.spend_steps(2 * expr::price::matching(size, value.size()))) return spent();
  re2::StringPiece match;
  if (regex->Match(value, 0, value.size(), re2::RE2::UNANCHORED, &match, 1))
    return ActionOutcome::success(
        Value::Object{{"pass", true}, {"matches", std::string(match.data(), match.size())}});
  return assertion_failed(request.params, "assertion failed: value does not match the pattern",
                          Value::Object{{"value", value}, {"pattern", pattern}});
}

ActionOutcome assert_schema(const ActionRequest& request, expr::Budget& budget) {
  auto schema = expr::JsonSchema::compile(*request.params.find("schema"), budget);
  if (budget.exceeded() != expr::Budget::Exceeded::None) return spent();
  if (!schema.ok())
    return ActionOutcome::failure("VALIDATION_ERROR", "schema: " + schema.error().message, false);
  auto faults = (*schema)->check(*request.params.find("data"), budget);
  if (budget.exceeded() != expr::Budget::Exceeded::None) return spent();
  if (faults.empty()) return pass();
  Value::Array violations;
  for (const auto& fault : faults)
    violations.push_back(Value::Object{
        {"path", fault.path}, {"keyword", fault.keyword}, {"message", fault.message}});
  return assertion_failed(request.params, "assertion failed: data does not match the schema",
                          Value::Object{{"violations", std::move(violations)}});
}

}  // namespace pawl::actions
