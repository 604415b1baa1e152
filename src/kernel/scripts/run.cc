#include "kernel/scripts/run.h"

#include <algorithm>

#include "base/named.h"
#include "kernel/scripts/step_names.h"

namespace pawl {
namespace {

constexpr Named<StepState> kStepStateNames[] = {
    {"pending", StepState::Pending},     {"running", StepState::Running},
    {"completed", StepState::Completed}, {"failed", StepState::Failed},
    {"skipped", StepState::Skipped},     {"suspended", StepState::Suspended},
    {"retrying", StepState::Retrying}};

constexpr Named<ScriptStatus> kScriptStatusNames[] = {
    {"pending", ScriptStatus::Pending},     {"active", ScriptStatus::Active},
    {"suspended", ScriptStatus::Suspended}, {"completed", ScriptStatus::Completed},
    {"failed", ScriptStatus::Failed},       {"cancelled", ScriptStatus::Cancelled}};

}  // namespace

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

std::string_view step_state_name(StepState state) { return name_of(kStepStateNames, state); }

std::string_view script_status_name(ScriptStatus status) {
  return name_of(kScriptStatusNames, status);
}

}  // namespace pawl
