// What failed an instance, found again in the journal, so that it can be delivered once more.
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

// Nothing: nothing failed it (it was terminated), it was a denial, which the journal does not hold,
// the frame is gone, or the program does not deliver such an input to this module any more.
std::optional<FailedInput> find_failed_input(World& world, const Program& program,
                                             std::string_view module, std::string_view key,
                                             const Instance& instance);

}  // namespace pawl::worlds
