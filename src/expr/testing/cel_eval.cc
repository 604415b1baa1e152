#include "expr/testing/cel_eval.h"

#include "expr/cel/show.h"

namespace pawl::expr {

std::string eval(std::string_view source, const Activation& activation,
                 const CompileOptions& options, const BudgetLimits& limits) {
  Result<std::shared_ptr<const Program>> program = Program::compile(source, options);
  if (!program.ok()) return "refused: " + program.error().message;
  Budget budget(limits);
  Result<Val> value = (*program)->evaluate(activation, budget);
  if (!value.ok())
    return std::string(value.error().code == ErrorCode::TooLarge ? "spent: " : "error: ") +
           value.error().message;
  return show(*value);
}

std::string eval(std::string_view source) { return eval(source, Variables()); }

std::string eval_json(std::string_view source, std::string_view json,
                      const CompileOptions& options) {
  const Value document = Value::parse(json).value();
  Variables variables;
  for (const Value::Member& member : document.as_object()) variables.json(member.key, member.value);
  return eval(source, variables, options);
}

}  // namespace pawl::expr
