// Following a world's journal.
#pragma once

#include <cstdint>

#include "base/function_ref.h"
#include "cli/command.h"
#include "cli/session.h"

namespace pawl::cli {

// Prints the records of each frame from `from` on (0: only new ones) as they come. `wait` is called
// when there are no more for now, with how often in a row there were none; false ends the watch.
// A server that was reached once may go away and come back.
int watch_world(Session& session, const Invocation& given, uint64_t from,
                FunctionRef<bool(int idle)> wait);

}  // namespace pawl::cli
