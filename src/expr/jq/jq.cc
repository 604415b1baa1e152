#include "expr/jq/jq.h"

#include "expr/jq/machine.h"

namespace pawl::expr {

struct JqProgram::Impl {
  std::string source;
  jq::NodePtr root;
};

JqProgram::JqProgram(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JqProgram::~JqProgram() = default;

Result<std::shared_ptr<const JqProgram>> JqProgram::compile(std::string_view source) {
  Budget budget(BudgetLimits{.steps_max = kCompileStepsMax});
  return compile(source, budget);
}

Result<std::shared_ptr<const JqProgram>> JqProgram::compile(std::string_view source,
                                                            Budget& budget) {
  if (!budget.spend_steps(price::compiling(source.size())))
    return Error{ErrorCode::TooLarge, "compiling the jq expression takes too many steps"};
  auto impl = std::make_unique<Impl>();
  impl->source = source;
  PAWL_TRY(impl->root, jq::parse(impl->source));
  PAWL_TRY_DO(jq::resolve(*impl->root, impl->source));
  return std::shared_ptr<const JqProgram>(new JqProgram(std::move(impl)));
}

Result<std::vector<Value>> JqProgram::run(const Value& input, Budget& budget,
                                          const Value& variables) const {
  jq::Machine machine(variables, budget);
  std::vector<Value> outputs;
  Datum start = Datum::from(input, budget);
  const bool ended =
      !machine.spent() && machine.eval(impl_->root.get(), nullptr,
                                       jq::Item{std::move(start), nullptr}, [&](jq::Item item) {
                                         outputs.push_back(item.value.to_value(budget));
                                         return !machine.spent();
                                       });
  if (machine.spent()) {
    return Error{ErrorCode::TooLarge, budget.exceeded() == Budget::Exceeded::Steps
                                          ? "the jq expression takes too many steps"
                                      : budget.exceeded() == Budget::Exceeded::Bytes
                                          ? "the jq expression builds too much data"
                                          : "the jq expression or its data nests too deep"};
  }
  if (ended) return outputs;
  const Datum& error = machine.error();
  const std::string message =
      error.is_string() ? error.as_string() : "(not a string): " + json_text(error, budget);
  return jq::error_at(impl_->source, machine.error_offset(), message);
}

}  // namespace pawl::expr
