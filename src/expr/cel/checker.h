// Checker: types of an expression without running it. Gradual: dyn fits everywhere, so a definition
// with untyped JSON inputs is refused only for errors that occur with any input.
//
// It is optional: evaluation checks types again. Use it when a definition is stored, to tell its
// author early.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "expr/cel/ast.h"
#include "expr/cel/types.h"

namespace pawl::expr {

struct Overload {
  std::vector<Type> arguments;  // the receiver first, if there is one
  Type result;
  bool receiver = false;
};

// "size(list<A>) int", or with a receiver "string:startsWith(string) bool".
Result<std::pair<std::string, Overload>> parse_overload(std::string_view text);

struct Declarations {
  std::map<std::string, Type, std::less<>> variables;
  std::map<std::string, std::vector<Overload>, std::less<>> functions;  // on top of the library
  std::string container;
  bool mixed_arithmetic = false;

  // The variables of workflow definitions, all maps from names to anything.
  static Declarations workflow();
};

// The type of the whole expression. InvalidContent with the place of the first contradiction.
Result<Type> check(std::string_view source, const Ast& ast, const Declarations& declarations);

// The signatures of the library.
const std::map<std::string, std::vector<Overload>, std::less<>>& library_overloads();

}  // namespace pawl::expr
