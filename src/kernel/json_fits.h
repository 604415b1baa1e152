// Whether the JSON of a value is no longer than `bytes`; counted, not built.
#pragma once

#include <cstddef>

#include "base/value.h"

namespace pawl {

bool json_fits(const Value& value, size_t bytes);

}  // namespace pawl
