// The length of a value's JSON, counted without building it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/value.h"

namespace pawl {

// Whether it is no longer than that. Stops as soon as the answer is known.
bool json_fits(const Value& value, size_t bytes);
size_t json_bytes(const Value& value);

// The number of values in valid JSON, or more than `enough`: their cost does not depend on bytes
// alone.
size_t json_values(std::string_view json, size_t enough = SIZE_MAX);
constexpr size_t kValuesMax = 500'000;  // of one input, output or payload of a run

}  // namespace pawl
