#include "actions/pure_actions.h"
#include "actions/value_text.h"
#include "expr/budget.h"
#include "expr/exprlang/exprlang.h"
#include "expr/jq/jq.h"

namespace pawl::actions {
namespace {

ActionOutcome expression_failed(const Error& error) {
  bool spent = error.code == ErrorCode::TooLarge;
  return ActionOutcome::failure(spent ? "NON_RETRYABLE" : "VALIDATION_ERROR", error.message, false);
}

// Inputs by name, then the members of data and data itself, then the standard names: later ones
// take precedence.
Value names_of(const ActionRequest& request) {
  Value::Object names;
  if (const Value* inputs = request.names.find("inputs"); inputs != nullptr && inputs->is_object())
    names = inputs->as_object();
  if (const Value* data = request.params.find("data")) {
    if (data->is_object())
      for (const auto& [name, value] : data->as_object()) names.set(name, value);
    names.set("data", *data);
  }
  if (request.names.is_object())
    for (const auto& [name, value] : request.names.as_object()) names.set(name, value);
  return names;
}

}  // namespace

ActionOutcome expr_eval(const ActionRequest& request, expr::Budget& budget) {
  auto program = expr::ExprLang::compile(string_param(request.params, "expression"), budget);
  if (!program.ok()) return expression_failed(program.error());
  auto result = (*program)->evaluate(names_of(request), budget);
  if (!result.ok()) return expression_failed(result.error());
  return ActionOutcome::success(Value::Object{{"result", std::move(result).value()}});
}

ActionOutcome jq_eval(const ActionRequest& request, expr::Budget& budget) {
  auto program = expr::JqProgram::compile(string_param(request.params, "expression"), budget);
  if (!program.ok()) return expression_failed(program.error());
  // Without data the expression works on the standard names.
  const Value* data = request.params.find("data");
  auto outputs = (*program)->run(data == nullptr ? request.names : *data, budget, request.names);
  if (!outputs.ok()) return expression_failed(outputs.error());
  Value first = outputs->empty() ? Value() : outputs->front();
  return ActionOutcome::success(Value::Object{
      {"result", std::move(first)}, {"results", Value::Array(std::move(outputs).value())}});
}

}  // namespace pawl::actions
