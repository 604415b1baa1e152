// "metadata" of a workflow: times, counts and failures over the whole tree below it.
#pragma once

#include "base/json_writer.h"

namespace pawl {

class State;
struct Run;

void render_metadata(json::Writer& w, const State& state, const Run& run);

}  // namespace pawl
