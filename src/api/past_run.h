// A run at an earlier time: GET /v1/runs/{id}?at=POSITION, where a position is the sequence of an
// event, or a time.
#pragma once

#include <string>

#include "api/app.h"
#include "api/runs.h"

namespace pawl::api {

// Answers the call; any thread.
void answer_past_run(App& app, Call&& call, const StepWindow& window);

}  // namespace pawl::api
