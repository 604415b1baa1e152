// Names for entities in traces.
#pragma once

#include <string>
#include <string_view>

#include "journal/run_events.h"

namespace pawl::sim {

template <size_t kCount, class Enum>
std::string nth(const std::string_view (&words)[kCount], Enum value) {
  auto at = static_cast<size_t>(value);
  return at < kCount ? std::string(words[at]) : "number " + std::to_string(at);
}

inline std::string word(RunKind kind) {
  return nth({"nothing", "chain", "group", "batch", "graph", "map", "script"}, kind);
}
inline std::string word(ChildState state) {
  return nth({"waiting", "started", "completed", "failed", "cancelled", "skipped"}, state);
}
inline std::string word(RunState state) {
  return nth({"nothing", "running", "completed", "failed", "cancelled"}, state);
}
inline std::string word(CallbackRole role) {
  return nth({"on_complete", "on_success", "on_failure", "on_cancel"}, role);
}

// Of a job, or of the run with this id.
inline std::string short_name(const JobId& id) { return id.text().substr(9, 19); }

}  // namespace pawl::sim
