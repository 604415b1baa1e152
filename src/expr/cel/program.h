// Program: one compiled CEL expression. Immutable, shareable between threads, evaluated any number
// of times.
//
// compile() parses, resolves functions and local variables, folds constants and compiles constant
// regular expressions; TooLarge if that costs more than its budget has (kCompileStepsMax without
// one). evaluate() pays that again: the cost must not depend on whether a cache held the program.
// It is always bounded: it ends with a value, an InvalidContent error that says what went wrong and
// where, or TooLarge when the Budget is spent.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "expr/budget.h"
#include "expr/cel/activation.h"
#include "expr/cel/parser.h"
#include "expr/cel/val.h"

namespace pawl::expr {

struct CompileOptions {
  std::string container;          // namespace in which names are looked up first, "a.b"
  bool mixed_arithmetic = false;  // let int, uint and double meet in + - * / %
  bool late_binding = false;      // an unknown function fails when it is called, not when compiled
  bool output_alias = false;      // steps.X.output means steps.X, unless X has a field `output`
  ParseLimits limits;

  // What guards and templates of workflow definitions are compiled with.
  static CompileOptions workflow() {
    CompileOptions options;
    options.mixed_arithmetic = true;
    options.output_alias = true;
    return options;
  }

  bool same_meaning(const CompileOptions& other) const {
    return container == other.container && mixed_arithmetic == other.mixed_arithmetic &&
           late_binding == other.late_binding && output_alias == other.output_alias;
  }
};

struct Code;

class Program {
 public:
  static Result<std::shared_ptr<const Program>> compile(std::string_view source,
                                                        const CompileOptions& options = {});
  static Result<std::shared_ptr<const Program>> compile(std::string_view source,
                                                        const CompileOptions& options,
                                                        Budget& budget);
  ~Program();
  Program& operator=(Program&&) = delete;

  Result<Val> evaluate(const Activation& activation, Budget& budget) const;
  // For guards: the value must be a bool.
  Result<bool> test(const Activation& activation, Budget& budget) const;

  const std::string& source() const { return source_; }
  // First parts of all names that are not bound inside the expression, sorted: "steps" of
  // steps.a.b.
  const std::vector<std::string>& variables() const;
  size_t bytes() const;  // about, for caches
  uint64_t compile_steps() const { return compile_steps_; }

 private:
  Program(std::string source, std::unique_ptr<const Code> code, uint64_t compile_steps);

  std::string source_;
  std::unique_ptr<const Code> code_;
  uint64_t compile_steps_;
};

}  // namespace pawl::expr
