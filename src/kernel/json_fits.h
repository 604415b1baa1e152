// How long the JSON of a value is; counted, not built.
#pragma once

#include <cstddef>

#include "base/value.h"

namespace pawl {

// Whether it is no longer than that. Looks no further than it must.
bool json_fits(const Value& value, size_t bytes);
size_t json_bytes(const Value& value);

}  // namespace pawl
