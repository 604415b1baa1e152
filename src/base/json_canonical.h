// Canonical JSON (RFC 8785): equal values give equal bytes, so that a digest of them can say "the
// same".
#pragma once

#include <string>

#include "base/json.h"

namespace pawl::json {

// Members sorted by their UTF-16 code units, numbers in their shortest form, no blanks.
void append_canonical(std::string& out, View value);
std::string canonical(View value);

}  // namespace pawl::json
