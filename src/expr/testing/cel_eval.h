// For tests: an expression in, one readable line out.
#pragma once

#include <string>

#include "expr/cel/program.h"

namespace pawl::expr {

std::string eval(std::string_view source, const Activation& activation,
                 const CompileOptions& options = {}, const BudgetLimits& limits = {});

std::string eval(std::string_view source);

// The value of an expression over one JSON document whose members are the variables.
std::string eval_json(std::string_view source, std::string_view json,
                      const CompileOptions& options = {});

}  // namespace pawl::expr
