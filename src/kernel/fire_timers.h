// Timers: moves everything whose time has come. The engine calls it before each input that it
// stamps with a later time, so that no decision sees a lease that has run out or a job that should
// have been promoted.
#pragma once

#include "kernel/frame.h"

namespace pawl {

// Moves up to max entities; true if more are due. Runs that have yielded come last, and only while
// the frame has something left for them; with `leave_yielded` not at all.
bool fire_timers(Frame& frame, size_t max, bool leave_yielded = false);

}  // namespace pawl
