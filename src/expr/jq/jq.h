// jq expressions, written for this engine: bounded, without environment, input, modules or clock.
//
// Compiled once, run often; immutable, any thread. Errors say where.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "expr/budget.h"

namespace pawl::expr {

class JqProgram {
 public:
  // TooLarge if it costs more than the budget has; kCompileStepsMax without one.
  static Result<std::shared_ptr<const JqProgram>> compile(std::string_view source);
  static Result<std::shared_ptr<const JqProgram>> compile(std::string_view source, Budget& budget);
  ~JqProgram();

  // All outputs in order. InvalidContent when the expression fails, TooLarge when the budget is
  // spent. `variables`: object whose members are $name.
  Result<std::vector<Value>> run(const Value& input, Budget& budget,
                                 const Value& variables = Value()) const;

 private:
  struct Impl;
  explicit JqProgram(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pawl::expr
