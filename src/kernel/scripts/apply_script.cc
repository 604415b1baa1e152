// Applies the events of runs of definitions.
#include <algorithm>
#include <set>

#include "kernel/keys.h"
#include "kernel/mutable_state.h"
#include "kernel/run.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/held.h"
#include "kernel/scripts/step_names.h"
#include "kernel/state_memory.h"
#include "plan/definition.h"

namespace pawl {
namespace {

enum class Mover : uint8_t { Nobody, Outside, Person };

// What will advance this step.
Mover mover_of(const StepRecord& record) {
  if (record.state == StepState::Suspended) return Mover::Person;
  bool outside = record.effect != 0 || record.state == StepState::Retrying ||
                 (record.state == StepState::Running && record.due == DueKind::Wait);
  return outside ? Mover::Outside : Mover::Nobody;
}

void count(ScriptRun& script, Mover mover, uint32_t by) {
  if (mover == Mover::Outside) script.busy += by;
  if (mover == Mover::Person) script.held += by;
}

void forget_made(ScriptRun& script, std::string_view step) {
  std::erase_if(script.made, [&](const MadeParts& made) {
    if (made.step != step) return false;
    for (const std::string& value : made.values) script.held_bytes -= value.size();
    return true;
  });
}

// Steps that are reset, and steps of dropped lists, no longer count as undone.
void forget_undone(ScriptRun& script, const StepsReset& event) {
  if (script.compensated.empty()) return;
  const std::set<std::string_view> lists(event.dropped.begin(), event.dropped.end());
  std::set<std::string_view> steps;
  for (const StepPlace& place : event.steps) steps.insert(place.step);
  std::erase_if(script.compensated, [&](const std::string& step) {
    return steps.count(step) != 0 || lists.count(split_step(step).first) != 0;
  });
}

RunState run_state_of(ScriptStatus status) {
  switch (status) {
    case ScriptStatus::Completed:
      return RunState::Completed;
    case ScriptStatus::Failed:
      return RunState::Failed;
    case ScriptStatus::Cancelled:
      return RunState::Cancelled;
    case ScriptStatus::Pending:
    case ScriptStatus::Active:
    case ScriptStatus::Suspended:
      return RunState::Running;
  }
  return RunState::Running;
}

}  // namespace

// --- events

Run* MutableState::script_for(const RunId& id, Stamp stamp) {
  Run* run = run_for(id, stamp);
  PAWL_CHECK(run == nullptr || run->script != nullptr);
  return run;
}

StepRecord* MutableState::step_for(const StepEvent& event, Stamp stamp, Run*& run) {
  run = script_for(event.run, stamp);
  if (run == nullptr) return nullptr;
  Scope* scope = resident_scope(*run, split_step(event.step).first);
  PAWL_CHECK(scope != nullptr && event.position < scope->records.size());
  scope->dirty = true;
  StepRecord& record = scope->records[event.position];
  if (record.id.empty()) record.id = split_step(event.step).second;
  return &record;
}

void MutableState::set_due(Run& run, const std::string& step, StepRecord& record, int64_t due_ms,
                           DueKind kind) {
  ScriptRun& script = *run.script;
  if (record.due_ms != 0) script.dues.erase({record.due_ms, step});
  record.due_ms = due_ms;
  record.due = kind;
  if (due_ms != 0) script.dues.emplace(due_ms, step);
}

void MutableState::drop_effect(Run& run, StepRecord& record) {
  if (record.effect == 0) return;
  forget_new_effect(run.id, record.effect);
  run.script->effects.erase(record.effect);
  record.effect = 0;
}

// The frame that asked for it has the answer itself, or has made the child that will give it: there
// is nothing to ask of the outside.
void MutableState::forget_new_effect(const RunId& run, uint32_t effect) {
  std::vector<EffectNote>& notes = memory_->new_effects;
  if (notes.empty()) return;
  const EffectNote& last = notes.back();
  if (last.run == run && last.effect == effect && !last.cancel) notes.pop_back();
}

// The run's one timer follows the earliest of its steps. One that is paused has none, and one that
// is over: a retry says what will be due before it brings the run back. One that has yielded sees
// what is due when its turn comes.
void MutableState::update_due(Run& run) {
  ScriptRun& script = *run.script;
  bool rests =
      script.paused || is_terminal(run.state) || script.yielded_ms != 0 || script.dues.empty();
  int64_t due_ms = rests ? 0 : script.dues.begin()->first;
  if (run.deadline_ms != due_ms) set_deadline(run, due_ms);
  line_up(run);
}

void MutableState::apply(const ScriptCreated& event, Stamp stamp) {
  if (Run* known = resident_run(event.run)) {
    if (!known->forgotten || known->version >= stamp.sequence) return;  // its row is newer
    memory_->buried_runs.emplace(known, memory_->runs.take(known->id));
  }
  forget_new_effect(event.parent.run, effect_of(event.parent.place));
  auto fresh = std::make_unique<Run>();
  fresh->id = event.run;
  fresh->kind = RunKind::Script;
  fresh->state = RunState::Running;
  fresh->name = event.definition;
  fresh->tenant = event.tenant;
  fresh->meta = event.meta;
  fresh->client_id = event.client_id;
  fresh->children_at = event.children_at;
  fresh->parent = event.parent;
  fresh->created_ms = stamp.time_ms;
  fresh->timeout_ms = event.timeout_ms;
  auto script = std::make_unique<ScriptRun>();
  script->definition = event.definition;
  script->version = event.version;
  script->source = event.source;
  script->text_digest = event.text_digest;
  script->inputs = event.inputs;
  script->agent_id = event.agent_id;
  script->priority = event.priority;
  script->created_sequence = stamp.sequence;
  script->held_bytes = held_by(*script);
  fresh->script = std::move(script);
  changed(memory_->runs.insert(std::move(fresh)), stamp);
}

void MutableState::apply(const ScriptMoved& event, Stamp stamp) {
  apply(ScriptMoved(event), stamp);
}

void MutableState::apply(ScriptMoved&& event, Stamp stamp) {
  count_run(event, stamp);
  Run* run = script_for(event.run, stamp);
  if (run == nullptr) return;
  ScriptRun& script = *run->script;
  uint64_t held_before = script.output.size() + held_by(script.error);
  script.status = event.to;
  // During rollback and hooks a suspension must not overwrite the reason of the end.
  if (script.phase == ScriptPhase::Steps || run_state_of(event.to) != RunState::Running)
    script.reason = event.reason;
  if (event.to == ScriptStatus::Active && run->started_ms == 0) {
    run->started_ms = stamp.time_ms;
    if (run->timeout_ms != 0) {
      script.timeout_at_ms = stamp.time_ms + run->timeout_ms;
      script.dues.emplace(script.timeout_at_ms, kTimeoutDue);
    }
  }
  RunState state = run_state_of(event.to);
  if (state != RunState::Running) {
    script.error = event.error;
    script.output = std::move(event.output);
    script.dues.clear();
    script.effects.clear();
    script.live.clear();
    script.timeout_at_ms = 0;
    script.busy = script.held = 0;
    script.yielded_ms = 0;
    forget_made(script, "");
    script.phase = ScriptPhase::Over;
    set_deadline(*run, 0);
    run->finished_ms = stamp.time_ms;
    run->reason = event.reason;
  } else if (is_terminal(run->state)) {  // a retry
    run->finished_ms = 0;
    run->reason.clear();
    script.error = {};
    script.output.clear();
    script.outcome = ScriptStatus::Active;
    if (run->timeout_ms != 0) {
      script.timeout_at_ms = stamp.time_ms + run->timeout_ms;
      script.dues.emplace(script.timeout_at_ms, kTimeoutDue);
    }
  }
  script.held_bytes += script.output.size() + held_by(script.error) - held_before;
  run->state = state;
  update_due(*run);
  if (event.to != ScriptStatus::Active && !folding_) memory_->moved_runs.push_back(run->id);
}

void MutableState::apply(const ScriptPhased& event, Stamp stamp) {
  Run* run = script_for(event.run, stamp);
  if (run == nullptr) return;
  ScriptRun& script = *run->script;
  script.phase = event.phase;
  script.outcome = event.outcome;
  script.reason = event.reason;
  {
    Held counted(script, script.error);
    script.error = event.error;
  }
  if (event.phase == ScriptPhase::Rollback) {
    // Earlier versions recorded undone steps by this, instead of StepUndone.
    const std::set<std::string_view> left(event.compensate.begin(), event.compensate.end());
    for (const std::string& step : script.compensate)
      if (left.count(step) == 0) script.compensated.push_back(step);
    script.compensate.assign(event.compensate.begin(), event.compensate.end());
  } else if (event.phase == ScriptPhase::Steps) {
    script.compensate.clear();  // steps still to undo count as completed again
  }
  // Hooks and compensation have their own timeouts: a run that has timed out still cleans up.
  if (script.timeout_at_ms != 0 && event.phase != ScriptPhase::Steps) {
    script.dues.erase({script.timeout_at_ms, kTimeoutDue});
    script.timeout_at_ms = 0;
  }
  update_due(*run);
}

void MutableState::apply(const ScopeOpened& event, Stamp stamp) {
  Run* run = script_for(event.run, stamp);
  if (run == nullptr) return;
  Scope scope;
  scope.path = event.scope;
  scope.owner = event.owner;
  scope.owner_position = event.owner_position;
  scope.list = event.list;
  scope.iteration = event.iteration;
  scope.index = event.index;
  scope.item = event.item;
  scope.unfinished = event.steps - event.dormant;
  scope.records.resize(event.steps);
  scope.dirty = true;
  if (auto at = run->script->scopes.find(event.scope); at != run->script->scopes.end()) {
    scope.in_flight = at->second.in_flight;
    scope.parts = at->second.parts;
  }
  run->script->held_bytes += held_by(scope);
  run->script->scopes.insert_or_assign(event.scope, std::move(scope));
  run->script->live.add(event.scope);
  if (++run->script->new_scopes == config_.new_scopes_max) memory_->crowded_runs.push_back(run->id);
  if (event.owner.empty()) return;
  Scope* outer = resident_scope(*run, split_step(event.owner).first);
  PAWL_CHECK(outer != nullptr && event.owner_position < outer->records.size());
  StepRecord& owner = outer->records[event.owner_position];
  outer->dirty = true;
  ++owner.open;
  owner.next = std::max(owner.next, event.index + 1);
}

void MutableState::apply(const ScopeClosed& event, Stamp stamp) {
  Run* run = script_for(event.run, stamp);
  if (run == nullptr) return;
  Scope* scope = resident_scope(*run, event.scope);
  PAWL_CHECK(scope != nullptr);
  scope->closed = true;
  scope->dirty = true;
  run->script->live.erase(event.scope);
  if (scope->owner.empty()) return;
  Scope* outer = resident_scope(*run, split_step(scope->owner).first);
  PAWL_CHECK(outer != nullptr && scope->owner_position < outer->records.size());
  StepRecord& owner = outer->records[scope->owner_position];
  outer->dirty = true;
  --owner.open;
  if (event.failed) owner.failed_scopes.push_back(event.scope);
}

void MutableState::apply(const StepStarted& event, Stamp stamp) {
  Run* run = nullptr;
  StepRecord* record = step_for(event, stamp, run);
  if (record == nullptr) return;
  ScriptRun& script = *run->script;
  Held counted(script, *record);
  forget_made(script, event.step);
  record->ready = 0;
  count(script, mover_of(*record), UINT32_MAX);
  drop_effect(*run, *record);
  if (record->started_ms == 0) record->started_ms = stamp.time_ms;
  record->state = StepState::Running;
  record->attempt = event.attempt;
  if (event.attempt == 1) record->round = script.rounds;
  record->choice.clear();
  record->items.clear();
  record->parsed_items.reset();
  record->failed_scopes.clear();
  record->count = record->next = record->open = 0;
  record->effect = event.effect;
  if (event.effect != 0) {
    script.effects.add({event.effect, event.step});
    script.next_effect = event.effect + 1;
    if (!folding_) memory_->new_effects.push_back({run->id, event.effect, false});
  }
  set_due(*run, event.step, *record, event.due_ms, event.due);
  count(script, mover_of(*record), 1);
  update_due(*run);
}

void MutableState::apply(const StepSuspended& event, Stamp stamp) {
  Run* run = nullptr;
  StepRecord* record = step_for(event, stamp, run);
  if (record == nullptr) return;
  ScriptRun& script = *run->script;
  count(script, mover_of(*record), UINT32_MAX);
  forget_made(script, event.step);
  record->state = StepState::Suspended;
  record->decision = event.decision;
  record->signal = event.signal;
  set_due(*run, event.step, *record, event.due_ms,
          event.due_ms == 0 ? DueKind::None : DueKind::Deadline);
  count(script, mover_of(*record), 1);
  update_due(*run);
}

void MutableState::apply(const ChildMoved& event, Stamp stamp) {
  Run* run = nullptr;
  StepRecord* record = step_for(event, stamp, run);
  if (record == nullptr) return;
  ScriptRun& script = *run->script;
  count(script, mover_of(*record), UINT32_MAX);
  record->state = event.suspended ? StepState::Suspended : StepState::Running;
  count(script, mover_of(*record), 1);
}

void MutableState::apply(const StepRetrying& event, Stamp stamp) {
  Run* run = nullptr;
  StepRecord* record = step_for(event, stamp, run);
  if (record == nullptr) return;
  ScriptRun& script = *run->script;
  count(script, mover_of(*record), UINT32_MAX);
  drop_effect(*run, *record);
  forget_made(script, event.step);
  Held counted(script, *record);
  record->state = StepState::Retrying;
  record->error = event.error;
  set_due(*run, event.step, *record, event.due_ms, DueKind::Retry);
  count(script, mover_of(*record), 1);
  update_due(*run);
}

void MutableState::apply(const StepEnded& event, Stamp stamp) { apply(StepEnded(event), stamp); }

void MutableState::apply(StepEnded&& event, Stamp stamp) {
  Run* run = nullptr;
  StepRecord* record = step_for(event, stamp, run);
  if (record == nullptr) return;
  ScriptRun& script = *run->script;
  bool was_over = is_over(record->state);
  forget_made(script, event.step);
  Held counted(script, *record);
  record->ready = 0;
  count(script, mover_of(*record), UINT32_MAX);
  drop_effect(*run, *record);
  record->state = event.state;
  record->output = std::move(event.output);
  record->parsed.reset();
  record->error = event.error;
  record->reason = event.reason;
  record->handled = event.handled;
  record->decision.clear();
  record->finished_ms = stamp.time_ms;
  record->done_sequence = stamp.sequence;
  set_due(*run, event.step, *record, 0, DueKind::None);
  update_due(*run);
  Scope* scope = resident_scope(*run, split_step(event.step).first);
  if (!was_over && !event.dormant) --scope->unfinished;
  if (event.state == StepState::Failed && !event.handled && !scope->failed) {
    Held in_list(script, scope->error);
    scope->failed = true;
    scope->error = event.error;
  }
}

void MutableState::apply(const StepNoted& event, Stamp stamp) {
  if (event.step.empty()) return void(script_for(event.run, stamp));
  Run* run = nullptr;
  StepRecord* record = step_for(event, stamp, run);
  if (record == nullptr) return;
  Held counted(*run->script, *record);
  if (!event.choice.empty()) record->choice = event.choice;
  if (!event.items.empty()) record->items = event.items;
  if (event.count != 0) record->count = event.count;
}

void MutableState::apply(const VariableSet& event, Stamp stamp) {
  Run* run = script_for(event.run, stamp);
  if (run == nullptr) return;
  for (Variable& variable : run->script->variables) {
    if (variable.key != event.key) continue;
    Held counted(*run->script, variable);
    return void(variable.value = event.value);
  }
  run->script->variables.push_back({event.key, event.value});
  run->script->held_bytes += held_by(run->script->variables.back());
}

void MutableState::apply(const SignalReceived& event, Stamp stamp) {
  Run* run = script_for(event.run, stamp);
  if (run == nullptr || !event.kept) return;
  run->script->signals.push_back({event.type, event.step, event.payload, event.agent_id});
  run->script->held_bytes += held_by(run->script->signals.back());
}

void MutableState::apply(const SignalTaken& event, Stamp stamp) {
  Run* run = script_for(event.run, stamp);
  if (run == nullptr) return;
  auto& signals = run->script->signals;
  PAWL_CHECK(event.place < signals.size());
  run->script->held_bytes -= held_by(signals[event.place]);
  signals.erase(signals.begin() + event.place);
}

void MutableState::apply(const StepsReset& event, Stamp stamp) {
  Run* run = script_for(event.run, stamp);
  if (run == nullptr) return;
  ScriptRun& script = *run->script;
  for (const std::string& path : event.dropped) {
    resident_scope(*run, path);
    Scope& scope = script.scopes[path];
    script.held_bytes -= held_by(scope);
    // Its row is removed with the next flush; until then only the data for the removal is kept.
    Scope left;
    left.path = path;
    left.in_flight = scope.in_flight;
    left.parts = std::move(scope.parts);
    scope = std::move(left);
    scope.gone = scope.dirty = true;
    script.live.erase(path);
  }
  forget_undone(script, event);
  if (!event.dropped.empty() || !event.reopened.empty()) ++script.rounds;
  for (const StepPlace& place : event.steps) {
    Scope* scope = resident_scope(*run, split_step(place.step).first);
    PAWL_CHECK(scope != nullptr && place.position < scope->records.size());
    StepRecord& record = scope->records[place.position];
    forget_made(script, place.step);
    Held counted(script, record);
    count(script, mover_of(record), UINT32_MAX);
    drop_effect(*run, record);
    set_due(*run, place.step, record, place.due_ms,
            place.due_ms == 0 ? DueKind::None : DueKind::Timeout);
    if (is_over(record.state) && !place.dormant) ++scope->unfinished;
    if (place.resumed) {
      record.state = StepState::Running;
      record.error = {};
      record.reason.clear();
      record.handled = false;
      record.finished_ms = 0;
      record.open = 0;
      record.failed_scopes.clear();
      if (place.next != 0) record.next = place.next;
    } else {
      record = StepRecord{};
      record.attempt = place.next;
    }
    scope->dirty = true;
    scope->dependencies_over.clear();
  }
  for (const std::string& path : event.reopened) {
    Scope* scope = resident_scope(*run, path);
    PAWL_CHECK(scope != nullptr);
    Held counted(script, scope->error);
    scope->closed = scope->failed = false;
    scope->error = {};
    scope->dirty = true;
    script.live.add(path);
    if (scope->owner.empty()) continue;
    Scope* outer = resident_scope(*run, split_step(scope->owner).first);
    ++outer->records[scope->owner_position].open;
  }
  if (!event.inputs.empty()) {
    script.held_bytes += event.inputs.size() - script.inputs.size();
    script.inputs = event.inputs;
    script.parsed_inputs.reset();
  }
  update_due(*run);
}

}  // namespace pawl
