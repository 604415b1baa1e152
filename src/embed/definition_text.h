// Reads definitions for an embedded engine: fills in defaults from the options, and reports faults
// in one line. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "pawl/options.h"
#include "plan/definition.h"

namespace pawl::embed {

// The error code of a task that an agent failed.
inline constexpr std::string_view kAgentErrorCode = "AGENT_ERROR";

// JSON or YAML. `actions`: the known names; null: not checked. The error is InvalidContent, and its
// message begins with the first fault.
Result<plan::ReadResult> read_workflow(std::string_view text, const EngineOptions& options,
                                       const std::vector<std::string>* actions);

// Fills in timeouts of capability and agent steps, the attempts of on_failure: retry, and queue
// options so that failed agent tasks are retried by their step, not by their queue.
void fill_defaults(Value& definition, const EngineOptions& options);

}  // namespace pawl::embed
