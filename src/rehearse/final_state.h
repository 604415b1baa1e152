// Reads the result of a rehearsed run from the engine's state: its end, its steps, its waits.
#pragma once

#include "rehearse/rehearsal.h"

namespace pawl {
class State;
struct Run;
}  // namespace pawl

namespace pawl::rehearse {

void describe_end(const State& state, const Run& run, Rehearsed& into);
void describe_steps(const State& state, const Story& story, Rehearsed& into);
void describe_waits(const State& state, const Story& story, int64_t start_ms, Rehearsed& into);

}  // namespace pawl::rehearse
