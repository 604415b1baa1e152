// What the engine needs of numbers that an expression gave, as whole numbers and text: so that the
// kernel computes with no floating point of its own.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/value.h"

namespace pawl::expr {

// The name under which a value chooses a branch: of a number with a fraction six digits.
std::string branch_name(const Value& value);

// InvalidContent unless it is a number from 0 to most_ms / 1000.
Result<int64_t> ms_of_seconds(const Value& seconds, int64_t most_ms);

}  // namespace pawl::expr
