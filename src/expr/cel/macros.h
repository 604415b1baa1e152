// Macros: calls that the parser replaces by other syntax, since their arguments are not plain
// values.
#pragma once

#include <string_view>

#include "base/result.h"
#include "expr/cel/ast.h"

namespace pawl::expr {

// Checks a Call that was just read. If it is a macro the node becomes its expansion;
// if it has the name and arity of one but the wrong kind of arguments, an error says which; all
// other calls stay.
Status expand_macro(std::string_view source, Ast& ast, AstNode& call);

}  // namespace pawl::expr
