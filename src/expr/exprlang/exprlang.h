// The expression language of expr.eval: a second front end, for definitions written for it.
//
// Unknown variables are nil. Bounded by the budget like everything here; no clock.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "base/value.h"
#include "expr/budget.h"

namespace pawl::expr {

class ExprLang {
 public:
  // TooLarge if it costs more than the budget has; kCompileStepsMax without one.
  static Result<std::shared_ptr<const ExprLang>> compile(std::string_view source);
  static Result<std::shared_ptr<const ExprLang>> compile(std::string_view source, Budget& budget);
  ~ExprLang();

  // `variables`: object whose members are the variables.
  Result<Value> evaluate(const Value& variables, Budget& budget) const;

 private:
  struct Impl;
  explicit ExprLang(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pawl::expr
