// Planner: syntax tree to Plan. Resolves names and functions, folds constants, compiles constant
// patterns.
#pragma once

#include <string_view>

#include "base/result.h"
#include "expr/cel/plan.h"
#include "expr/cel/program.h"

namespace pawl::expr {

Result<Plan> make_plan(std::string_view source, const Ast& ast, const CompileOptions& options,
                       Budget& budget);

}  // namespace pawl::expr
