// What it means that a call is made twice: after a crash the engine asks again for whatever was not
// answered, so every action runs at least once, and some may run more often. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/value.h"

namespace pawl::rehearse {

enum class Twice : uint8_t {
  Harmless,  // the second time changes nothing
  Keyed,     // the other side is given the same idempotency key, and can tell
  Unsafe,    // it is done twice
};

// `said_unsafe`: what the mock says about it.
Twice twice_of(std::string_view action, const Value& params, std::optional<bool> said_unsafe);
bool carries_key(std::string_view action);

}  // namespace pawl::rehearse
