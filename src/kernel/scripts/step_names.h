// Names of steps, of their states and of runs' states, for everyone who reads events or shows runs.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "journal/events.h"

namespace pawl {

inline bool is_over(StepState state) {
  return state == StepState::Completed || state == StepState::Failed || state == StepState::Skipped;
}
std::string_view step_state_name(StepState state);
std::string_view script_status_name(ScriptStatus status);

// Names among the run's timers that are not steps.
inline constexpr const char* kTimeoutDue = "";
inline constexpr const char* kTimeoutReason = "timeout";

// "a.true.b" → "a.true", "b"; "a" → "", "a".
std::pair<std::string_view, std::string_view> split_step(std::string_view step);
std::string join_path(std::string_view scope, std::string_view name);

}  // namespace pawl
