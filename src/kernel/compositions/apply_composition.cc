// Applies the events of compositions of jobs.
#include "kernel/mutable_state.h"
#include "kernel/run.h"
#include "kernel/run_family.h"
#include "kernel/state_memory.h"

namespace pawl {
namespace {

uint32_t role_bit(CallbackRole role) { return 1u << static_cast<uint32_t>(role); }

void set_child(Run& run, uint32_t index, ChildState to) {
  if (run.child(index) == ChildState::Started) --run.at_work;
  if (to == ChildState::Started) ++run.at_work;
  run.children[index] = static_cast<char>(to);
}

}  // namespace

// A job or nested run was started at this place.
void MutableState::child_started(const JobParent& parent, const Uuid& child, Stamp stamp) {
  if (parent.run.is_nil() || is_callback(index_of(parent.place))) return;
  forget_new_effect(parent.run, index_of(parent.place));
  const Run* around = resident_run(parent.run);
  if (around == nullptr || !family_of(*around).counts_children()) return;
  Run* run = run_for(parent.run, stamp);
  if (run == nullptr) return;
  set_child(*run, index_of(parent.place), ChildState::Started);
  if (child != child_id(*run, index_of(parent.place))) run->ids[index_of(parent.place)] = child;
  if (index_of(parent.place) >= run->next_child) run->next_child = index_of(parent.place) + 1;
}

void MutableState::apply(const RunCreated& event, Stamp stamp) {
  child_started(event.parent, event.run, stamp);
  if (Run* known = resident_run(event.run)) {
    if (!known->forgotten || known->version >= stamp.sequence) return;  // its row is newer
    memory_->buried_runs.emplace(known, memory_->runs.take(known->id));
  }
  auto fresh = std::make_unique<Run>();
  fresh->id = event.run;
  fresh->kind = event.kind;
  if (event.kind == RunKind::Dag) fresh->dag = std::make_unique<DagLinks>();
  fresh->state = RunState::Running;
  fresh->name = event.name;
  fresh->tenant = event.tenant;
  fresh->meta = event.meta;
  fresh->client_id = event.client_id;
  fresh->salt = event.salt;
  fresh->children_at = event.children_at;
  fresh->named_steps = event.named_steps;
  fresh->parent = event.parent;
  fresh->total = event.total;
  fresh->job_count = event.job_count;
  fresh->concurrency = event.concurrency;
  fresh->created_ms = stamp.time_ms;
  fresh->timeout_ms = event.timeout_ms;
  fresh->on_timeout = event.on_timeout;
  fresh->children.assign(event.total, static_cast<char>(ChildState::Waiting));
  for (const HeldChild& child : event.held) fresh->held[child.index] = child.plan;
  Run& run = memory_->runs.insert(std::move(fresh));
  changed(run, stamp);
  if (run.timeout_ms != 0) set_deadline(run, stamp.time_ms + run.timeout_ms);
}

void MutableState::apply(const RunStarted& event, Stamp stamp) {
  if (Run* run = run_for(event.run, stamp)) run->started_ms = stamp.time_ms;
}

void MutableState::apply(const RunChildDone& event, Stamp stamp) {
  Run* run = run_for(event.run, stamp);
  if (run == nullptr) return;
  if (is_callback(event.index)) {
    run->callbacks_done |= role_bit(callback_role(event.index));
    if (event.outcome != ChildState::Completed)
      run->callbacks_failed |= role_bit(callback_role(event.index));
    return;
  }
  set_child(*run, event.index, event.outcome);
  count_child(*run, event.outcome);
  if (event.index >= run->next_child) run->next_child = event.index + 1;
  bool good = event.outcome == ChildState::Completed || event.outcome == ChildState::Skipped;
  if (good && run->dag && !run->dag->open.empty())
    for (uint32_t next : run->dag->dependents[event.index]) --run->dag->open[next];
  if (event.outcome == ChildState::Started) run->reasons.erase(event.index);
  if (!event.reason.empty()) run->reasons[event.index] = event.reason;
}

void MutableState::apply(const RunCallbackFired& event, Stamp stamp) {
  Run* run = run_for(event.run, stamp);
  if (run == nullptr) return;
  run->callbacks_fired |= role_bit(event.role);
  uint32_t index = callback_index(event.role, run->generation);
  if (event.job != child_id(*run, index)) run->ids[index] = event.job;
}

void MutableState::apply(const RunFinished& event, Stamp stamp) {
  Run* run = run_for(event.run, stamp);
  if (run == nullptr) return;
  set_deadline(*run, 0);
  run->state = event.state;
  run->finished_ms = stamp.time_ms;
  run->reason = event.reason;
  run->yielded_ms = 0;
  line_up(*run);
}

void MutableState::apply(const RunRetried& event, Stamp stamp) {
  Run* run = run_for(event.run, stamp);
  if (run == nullptr) return;
  run->state = RunState::Running;
  ++run->generation;
  run->finished_ms = 0;
  run->reason.clear();
  run->callbacks_fired = run->callbacks_done = run->callbacks_failed = 0;
  run->failed = run->cancelled = 0;
  if (run->dag) run->dag->open.clear();
  for (char& child : run->children) {
    auto state = static_cast<ChildState>(child);
    if (state == ChildState::Failed || state == ChildState::Cancelled)
      child = static_cast<char>(ChildState::Waiting);
  }
  for (uint32_t index : event.restart) {
    set_child(*run, index, ChildState::Started);
    run->reasons.erase(index);
  }
  if (run->timeout_ms != 0) set_deadline(*run, stamp.time_ms + run->timeout_ms);
}

}  // namespace pawl
