// The effect of a repeated call: after a crash the engine repeats unanswered calls, so every action
// runs at least once, and some run more often. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/value.h"

namespace pawl::rehearse {

enum class Twice : uint8_t {
  Harmless,  // the second time changes nothing
  Keyed,     // the service gets the same idempotency key, and can detect it
  Unsafe,    // it is done twice
};

// `said_unsafe`: the mock's own `unsafe`.
Twice twice_of(std::string_view action, const Value& params, std::optional<bool> said_unsafe);
bool carries_key(std::string_view action);

}  // namespace pawl::rehearse
