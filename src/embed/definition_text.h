// Definitions on their way into an engine: what is left out is filled in from the options, and what
// is wrong is told in one line. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "pawl/options.h"
#include "plan/definition.h"

namespace pawl::embed {

// Of a task that an agent failed at.
inline constexpr std::string_view kAgentErrorCode = "AGENT_ERROR";

// JSON or YAML. `actions`: the names there are; null: not checked. The error is InvalidContent, and
// its message begins with what is wrong first.
Result<plan::ReadResult> read_workflow(std::string_view text, const EngineOptions& options,
                                       const std::vector<std::string>* actions);

// Timeouts of capability and agent steps, the attempts of on_failure: retry, and that tasks which
// an agent failed at are tried again by their step and not by their queue.
void fill_defaults(Value& definition, const EngineOptions& options);

}  // namespace pawl::embed
