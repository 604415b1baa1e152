// Regular expressions of all languages here: run by RE2, bounded in memory and paid for.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "expr/budget.h"

namespace re2 {
class RE2;
}

namespace pawl::expr {

using Regex = std::shared_ptr<const re2::RE2>;

// Null with a message if the pattern is invalid, or if compiling costs more than the budget has.
// Compiling is paid here, also when it fails.
Regex compile_regex(std::string_view pattern, Budget& budget, std::string& error);
// A pattern as ECMA-262 spells it: \uXXXX and (?<name>…) are rewritten. InvalidContent for what RE2
// has no automaton for (look-around, back references), TooLarge if the budget is spent.
Result<Regex> compile_ecma_regex(std::string_view pattern, Budget& budget);
// Whether it matches somewhere in the text; nothing if the budget is spent.
std::optional<bool> match_regex(const re2::RE2& regex, std::string_view text, Budget& budget);

}  // namespace pawl::expr
