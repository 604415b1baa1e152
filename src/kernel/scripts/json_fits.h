// How long the JSON of a value is; counted, not built.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/value.h"

namespace pawl {

// Whether it is no longer than that. Looks no further than it must.
bool json_fits(const Value& value, size_t bytes);
size_t json_bytes(const Value& value);

// How many values there are in valid JSON, or more than `enough`: what they cost to read and copy
// is not told by their bytes alone.
size_t json_values(std::string_view json, size_t enough = SIZE_MAX);
constexpr size_t kValuesMax = 500'000;  // of one input, output or payload of a run

}  // namespace pawl
