#include "expr/program.h"

#include <re2/re2.h>

#include "expr/evaluator.h"
#include "expr/lexer.h"
#include "expr/planner.h"

namespace pawl::expr {
namespace {

Error budget_error(const Budget& budget) {
  const BudgetLimits& limits = budget.limits();
  switch (budget.exceeded()) {
    case Budget::Exceeded::Steps:
      return Error{ErrorCode::TooLarge,
                   "the expression needs more than " + std::to_string(limits.steps_max) + " steps"};
    case Budget::Exceeded::Bytes:
      return Error{ErrorCode::TooLarge, "the expression builds more than " +
                                            std::to_string(limits.bytes_max) + " bytes"};
    case Budget::Exceeded::Depth:
      return Error{ErrorCode::TooLarge, "the expression nests deeper than " +
                                            std::to_string(limits.depth_max) + " levels"};
    case Budget::Exceeded::None:
      break;
  }
  return Error{ErrorCode::Internal, "the evaluation budget is intact"};
}

}  // namespace

Program::Program(std::string source, std::unique_ptr<const Plan> plan)
    : source_(std::move(source)), plan_(std::move(plan)) {}

Program::~Program() = default;

Result<std::shared_ptr<const Program>> Program::compile(std::string_view source,
                                                        const CompileOptions& options) {
  PAWL_TRY(const Ast ast, parse(source, options.limits));
  PAWL_TRY(Plan plan, make_plan(source, ast, options));
  return std::shared_ptr<const Program>(
      new Program(std::string(source), std::make_unique<const Plan>(std::move(plan))));
}

Result<Val> Program::evaluate(const Activation& activation, Budget& budget) const {
  if (budget.exceeded() != Budget::Exceeded::None) return budget_error(budget);
  Val value = Evaluator(*plan_, activation, budget).run(plan_->root);
  if (budget.exceeded() != Budget::Exceeded::None) return budget_error(budget);
  if (value.is_error()) {
    const ErrorNode& error = value.as_error();
    return error_at(ErrorCode::InvalidContent, source_, error.placed ? error.offset : 0,
                    error.message);
  }
  Val owned = value.own(budget);
  if (budget.exceeded() != Budget::Exceeded::None) return budget_error(budget);
  return owned;
}

Result<bool> Program::test(const Activation& activation, Budget& budget) const {
  PAWL_TRY(Val value, evaluate(activation, budget));
  if (!value.is(Kind::Bool)) {
    return error_at(
        ErrorCode::InvalidContent, source_, 0,
        "expected the expression to be true or false, not " + std::string(type_name(value.kind())));
  }
  return value.as_bool();
}

const std::vector<std::string>& Program::variables() const { return plan_->variables; }

size_t Program::bytes() const {
  return sizeof(Program) + sizeof(Plan) + source_.size() + plan_->steps.size() * sizeof(Step) +
         plan_->constants.size() * 64 + plan_->names.size() * 256 +
         plan_->regexes.size() * (64u << 10);
}

}  // namespace pawl::expr
