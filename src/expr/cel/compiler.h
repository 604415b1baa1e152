// Compiler: syntax tree to Code. Resolves names and functions, folds constants, compiles constant
// patterns.
#pragma once

#include <string_view>

#include "base/result.h"
#include "expr/cel/code.h"
#include "expr/cel/program.h"

namespace pawl::expr {

Result<Code> compile_code(std::string_view source, const Ast& ast, const CompileOptions& options,
                          Budget& budget);

}  // namespace pawl::expr
