// The arm that a value names as a variant's, whether or not it can be read as that variant; "" if
// it names none.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "worlds/type.h"

namespace pawl::worlds {

std::string arm_named_by(json::View value, Lens lens);
std::string arm_named_by(std::string_view cbor);

}  // namespace pawl::worlds
