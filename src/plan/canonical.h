// Prints a Script as a definition: canonical names, every default and order explicit. Reading it
// gives the same Script, except for line numbers.
#pragma once

#include "base/value.h"
#include "plan/script.h"

namespace pawl::plan {

Value canonical_definition(const Script& script);

// "90s", "2h", "1500ms": reads back as the same number.
std::string duration_text(int64_t ms);

}  // namespace pawl::plan
