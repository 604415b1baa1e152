// Finds the input that failed an instance in the journal again, so that a retry can deliver it once
// more.
#pragma once

#include <optional>
#include <string_view>

#include "worlds/continuation.h"
#include "worlds/frame.h"

namespace pawl::worlds {

struct FailedInput {
  Cause record;  // a domain event, a receipt, or its fault
  Route route = Route::Subscription;
  Continuation delivery;
};

// Nullopt if there is no such input: the instance was terminated, its input was a denial (the
// journal does not hold those), retention took the frame, or the program does not deliver such an
// input to this module any more.
std::optional<FailedInput> find_failed_input(World& world, const Program& program,
                                             std::string_view module, std::string_view key,
                                             const Instance& instance);

}  // namespace pawl::worlds
