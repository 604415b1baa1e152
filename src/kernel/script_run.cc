#include "kernel/script_run.h"

#include <algorithm>

namespace pawl {

const std::string* ScriptRun::step_of_effect(uint32_t effect) const {
  auto at = std::lower_bound(
      effects.begin(), effects.end(), effect,
      [](const OpenEffect& open, uint32_t wanted) { return open.effect < wanted; });
  return at == effects.end() || at->effect != effect ? nullptr : &at->step;
}

std::pair<std::string_view, std::string_view> split_step(std::string_view step) {
  size_t dot = step.rfind('.');
  if (dot == std::string_view::npos) return {"", step};
  return {step.substr(0, dot), step.substr(dot + 1)};
}

std::string join_path(std::string_view scope, std::string_view name) {
  std::string path(scope);
  if (!path.empty()) path += '.';
  return path.append(name);
}

std::string_view step_state_name(StepState state) {
  switch (state) {
    case StepState::Pending:
      return "pending";
    case StepState::Running:
      return "running";
    case StepState::Completed:
      return "completed";
    case StepState::Failed:
      return "failed";
    case StepState::Skipped:
      return "skipped";
    case StepState::Suspended:
      return "suspended";
    case StepState::Retrying:
      return "retrying";
  }
  return "";
}

std::string_view script_status_name(ScriptStatus status) {
  switch (status) {
    case ScriptStatus::Pending:
      return "pending";
    case ScriptStatus::Active:
      return "active";
    case ScriptStatus::Suspended:
      return "suspended";
    case ScriptStatus::Completed:
      return "completed";
    case ScriptStatus::Failed:
      return "failed";
    case ScriptStatus::Cancelled:
      return "cancelled";
  }
  return "";
}

}  // namespace pawl
