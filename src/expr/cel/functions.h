// The function library: the standard functions and the extensions, by family, in one table.
//
// A function's arguments are never errors; it checks their kinds itself and returns a value or an
// error value. It spends from the budget in proportion to its work before it does the work.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "expr/budget.h"
#include "expr/cel/val.h"
#include "expr/regex.h"

namespace pawl::expr {

struct CallContext {
  Budget& budget;
  bool mixed_arithmetic = false;
  // The pattern that was compiled last: one evaluation often uses the same pattern repeatedly.
  std::string pattern = {};
  Regex regex = {};
};

using Arguments = std::span<const Val>;  // of a receiver call, the receiver comes first
using FunctionBody = Val (*)(CallContext& context, Arguments arguments);

struct Function {
  std::string_view name;  // "size", "math.greatest"
  FunctionBody body;
  uint8_t arguments_min;  // receiver not counted
  uint8_t arguments_max;
  bool receiver;  // x.f(…) or f(…)
};

// Null if no function has this name and call style for so many arguments.
const Function* find_function(std::string_view name, bool receiver, size_t arguments);
// Whether the name exists in any style, for better messages.
bool is_function_name(std::string_view name);

// The families, one file each.
std::span<const Function> conversion_functions();
std::span<const Function> string_functions();
std::span<const Function> format_functions();
std::span<const Function> math_functions();
std::span<const Function> time_functions();
std::span<const Function> list_functions();
std::span<const Function> optional_functions();
std::span<const Function> network_functions();
std::span<const Function> encoder_functions();

// "no such overload: name(int, string)".
Val no_overload(std::string_view name, Arguments arguments);
// The value that stands for a spent budget while the evaluation unwinds.
Val exhausted();

// Makes a string or list value after paying for it.
Val paid_string(CallContext& context, std::string text);
Val paid_list(CallContext& context, std::vector<Val> elements);

}  // namespace pawl::expr
