// Converts numbers from expressions to integers and text, so that the kernel needs no floating
// point.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/value.h"

namespace pawl::expr {

// The branch name for a value; a number with a fraction has six digits.
std::string branch_name(const Value& value);

// InvalidContent unless it is a number from 0 to most_ms / 1000.
Result<int64_t> ms_of_seconds(const Value& seconds, int64_t most_ms);

}  // namespace pawl::expr
