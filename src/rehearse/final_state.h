// What is to be seen of a rehearsed run in the state of the engine: how it ended, its steps, what
// it waits for. Reads only.
#pragma once

#include "kernel/state.h"
#include "rehearse/rehearsal.h"

namespace pawl::rehearse {

void describe_end(const State& state, const Run& run, Rehearsed& into);
void describe_steps(const State& state, const Story& story, Rehearsed& into);
void describe_waits(const State& state, const Story& story, int64_t start_ms, Rehearsed& into);

}  // namespace pawl::rehearse
