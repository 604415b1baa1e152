// Shared by check_params and judge_params.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/value.h"

namespace pawl::actions {

// Several names of one required parameter. The first is the preferred one.
std::span<const std::string_view> needed_aliases(std::string_view action);

// The value as the action will see it: converted to the declared type if nothing is lost.
Value turned(const Value& schema, Value value);
bool accepts_kind(const Value& schema, const Value& value);

}  // namespace pawl::actions
