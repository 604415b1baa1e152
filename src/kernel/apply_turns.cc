// Applies events of runs of definitions: added steps, and work left for a later frame.
#include <algorithm>

#include "kernel/mutable_state.h"
#include "kernel/run.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/step_names.h"

namespace pawl {

void MutableState::apply(const ScriptExtended& event, Stamp stamp) {
  Run* run = script_for(event.run, stamp);
  if (run == nullptr) return;
  ScriptRun& script = *run->script;
  script.source = event.source;
  script.plan.reset();
  Scope* root = resident_scope(*run, "");
  PAWL_CHECK(root != nullptr);
  root->unfinished += event.steps - static_cast<uint32_t>(root->records.size()) - event.dormant;
  root->records.resize(event.steps);
  root->dependencies_over.clear();
  root->dirty = true;
}

void MutableState::apply(const StepUndone& event, Stamp stamp) {
  Run* run = script_for(event.run, stamp);
  if (run == nullptr) return;
  ScriptRun& script = *run->script;
  PAWL_CHECK(!script.compensate.empty() && script.compensate.front() == event.step);
  script.compensated.push_back(std::move(script.compensate.front()));
  script.compensate.pop_front();
}

void MutableState::apply(const ScriptPaused& event, Stamp stamp) {
  Run* run = script_for(event.run, stamp);
  if (run == nullptr) return;
  ScriptRun& script = *run->script;
  if (event.paused && !script.paused) script.paused_ms = stamp.time_ms;
  if (!event.paused && script.paused && script.timeout_at_ms != 0) {
    script.dues.erase({script.timeout_at_ms, kTimeoutDue});
    script.timeout_at_ms += stamp.time_ms - script.paused_ms;
    script.dues.emplace(script.timeout_at_ms, kTimeoutDue);
  }
  script.paused = event.paused;
  if (event.reason == kTimeoutReason && script.timeout_at_ms != 0) {  // once is enough
    script.dues.erase({script.timeout_at_ms, kTimeoutDue});
    script.timeout_at_ms = 0;
  }
  update_due(*run);
}

void MutableState::apply(const ScriptYielded& event, Stamp stamp) {
  Run* run = script_for(event.run, stamp);
  if (run == nullptr) return;
  ScriptRun& script = *run->script;
  // Yields or resumes: not before the next millisecond, so never in the same frame.
  script.yielded_ms = script.yielded_ms == 0 ? stamp.time_ms + 1 : 0;
  update_due(*run);
}

void MutableState::apply(const PartsMade& event, Stamp stamp) {
  Run* run = script_for(event.run, stamp);
  if (run == nullptr) return;
  ScriptRun& script = *run->script;
  auto made = std::find_if(script.made.begin(), script.made.end(),
                           [&](const MadeParts& each) { return each.step == event.step; });
  if (made == script.made.end()) made = script.made.insert(made, MadeParts{event.step, {}});
  for (const std::string& value : event.values) {
    made->values.push_back(value);
    script.held_bytes += value.size();
  }
}

void MutableState::apply(const StepsReady& event, Stamp stamp) {
  Run* run = script_for(event.run, stamp);
  if (run == nullptr) return;
  Scope* scope = resident_scope(*run, event.scope);
  PAWL_CHECK(scope != nullptr);
  scope->dirty = true;
  for (uint32_t position : event.positions) {
    PAWL_CHECK(position < scope->records.size());
    scope->records[position].ready = event.withdrawn ? 0 : event.guarded ? 2 : 1;
  }
}

}  // namespace pawl
