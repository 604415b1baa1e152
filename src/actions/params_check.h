// What check_params and the judge of definitions agree on.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/value.h"

namespace pawl::actions {

// Several names for the same thing, of which an action needs one. The first is the one to use.
std::span<const std::string_view> needed_aliases(std::string_view action);

// The value as the action will see it: of the declared kind, where that loses nothing.
Value turned(const Value& schema, Value value);
bool accepts_kind(const Value& schema, const Value& value);

}  // namespace pawl::actions
