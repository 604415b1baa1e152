#include "expr/cel/program.h"

#include <algorithm>

#include "expr/cel/compiler.h"
#include "expr/cel/evaluator.h"
#include "expr/cel/lexer.h"

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

// The price that an evaluation pays for compiling, as if no cache held the program. Short texts pay
// little: thousands of items may use the same short text, and a cache holds thousands of those.
uint64_t steps_to_begin(std::string_view source, uint64_t compile_steps) {
  constexpr size_t kShort = 512;
  if (source.size() > kShort) return compile_steps;
  return compile_steps - price::compiling(source.size()) + price::scanning(2 * source.size());
}

}  // namespace

Program::Program(std::string source, std::unique_ptr<const Code> code, uint64_t compile_steps)
    : source_(std::move(source)), code_(std::move(code)), compile_steps_(compile_steps) {}

Program::~Program() = default;

Result<std::shared_ptr<const Program>> Program::compile(std::string_view source,
                                                        const CompileOptions& options) {
  Budget budget(BudgetLimits{.steps_max = kCompileStepsMax});
  return compile(source, options, budget);
}

Result<std::shared_ptr<const Program>> Program::compile(std::string_view source,
                                                        const CompileOptions& options,
                                                        Budget& budget) {
  const uint64_t before = budget.steps_spent();
  const uint64_t bytes = std::min<uint64_t>(source.size(), options.limits.source_bytes_max);
  if (!budget.spend_steps(price::compiling(bytes))) {
    return Error{ErrorCode::TooLarge, "what is compiled together needs more than " +
                                          std::to_string(budget.limits().steps_max) + " steps"};
  }
  PAWL_TRY(const Ast ast, parse(source, options.limits));
  PAWL_TRY(Code code, compile_code(source, ast, options, budget));
  return std::shared_ptr<const Program>(new Program(std::string(source),
                                                    std::make_unique<const Code>(std::move(code)),
                                                    budget.steps_spent() - before));
}

Result<Val> Program::evaluate(const Activation& activation, Budget& budget) const {
  if (budget.exceeded() != Budget::Exceeded::None ||
      !budget.spend_steps(steps_to_begin(source_, compile_steps_)))
    return budget_error(budget);
  Val value = Evaluator(*code_, activation, budget).run(code_->root);
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

const std::vector<std::string>& Program::variables() const { return code_->variables; }

size_t Program::bytes() const {
  return sizeof(Program) + sizeof(Code) + source_.size() + code_->steps.size() * sizeof(Step) +
         code_->constants.size() * 64 + code_->names.size() * 256 +
         code_->regexes.size() * (64u << 10);
}

}  // namespace pawl::expr
