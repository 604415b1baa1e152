// Val as CEL text, for messages and tests: 1u, b"\xff", {"a": [1.5]}, duration("2s"),
// optional.of(1).
#pragma once

#include <string>

#include "expr/cel/val.h"

namespace pawl::expr {

std::string show(const Val& value);

}  // namespace pawl::expr
