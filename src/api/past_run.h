// A run as it was: GET /v1/runs/{id}?at=POSITION, where a position is a journal sequence as events
// show it, or a time.
#pragma once

#include <string>

#include "api/app.h"
#include "api/runs.h"

namespace pawl::api {

// Answers the call; any thread.
void answer_past_run(App& app, Call&& call, const StepWindow& window);

}  // namespace pawl::api
