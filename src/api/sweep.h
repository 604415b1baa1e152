// Sweep: work too large for one frame. It is done in slices; each is durable before the next one is
// decided, so other requests are served in between, and the answer comes after the last.
//
// A server that stops or is overloaded in the middle answers with that error; the changes of
// earlier slices stay, and the same request continues from there.
#pragma once

#include <functional>

#include "api/app.h"

namespace pawl::api {

// Engine thread. True if there is more to do.
using Slice = std::function<Result<bool>(Frame&)>;

// finish() makes the answer, when the last slice is durable.
void sweep(App& app, Call&& call, Slice slice, std::function<http::Response()> finish);

}  // namespace pawl::api
