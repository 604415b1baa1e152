// Timers: processes everything that is due. The engine calls it before each input with a later
// time, so that no decision sees an expired lease or a job that should have been promoted.
#pragma once

#include <cstddef>

namespace pawl {

class Frame;

// Processes up to max entities; true if more are due. Runs that have yielded come last, and only
// while the frame has allowance left; with `leave_yielded` not at all.
bool fire_timers(Frame& frame, size_t max, bool leave_yielded = false);

}  // namespace pawl
