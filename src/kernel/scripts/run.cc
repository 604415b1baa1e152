#include "kernel/scripts/run.h"

#include <algorithm>

#include "kernel/scripts/step_names.h"

namespace pawl {

const std::string* ScriptRun::step_of_effect(uint32_t effect) const {
  const OpenEffect* open = effects.find(effect);
  return open == nullptr ? nullptr : &open->step;
}

uint64_t held_by(const StepError& error) { return error.message.size() + error.details.size(); }

uint64_t held_by(const StepRecord& record) {
  return record.output.size() + record.items.size() + held_by(record.error);
}

uint64_t held_by(const Scope& scope) {
  uint64_t bytes = scope.item.size() + held_by(scope.error);
  for (const StepRecord& record : scope.records) bytes += held_by(record);
  return bytes;
}

uint64_t held_by(const KeptSignal& signal) { return signal.type.size() + signal.payload.size(); }

uint64_t held_by(const Variable& variable) { return variable.key.size() + variable.value.size(); }

uint64_t held_by(const ScriptRun& script) {
  uint64_t bytes = script.inputs.size() + script.output.size() + held_by(script.error);
  for (const KeptSignal& signal : script.signals) bytes += held_by(signal);
  for (const Variable& variable : script.variables) bytes += held_by(variable);
  for (const MadeParts& made : script.made)
    for (const std::string& value : made.values) bytes += value.size();
  return bytes;
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
