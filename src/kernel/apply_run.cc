// Runs in the state: how they are found, what each run event does to them, and their rows.
#include <algorithm>

#include "kernel/keys.h"
#include "kernel/state.h"

namespace pawl {
namespace {

std::string child_row_key(const RunId& run, uint32_t index) {
  std::string key = run.bytes();
  put_big_endian(key, index, 4);
  return key;
}

uint32_t role_bit(CallbackRole role) { return 1u << static_cast<uint32_t>(role); }

void count_child(Run& run, ChildState outcome) {
  switch (outcome) {
    case ChildState::Completed:
    case ChildState::Skipped:
      ++run.completed;
      return;
    case ChildState::Failed:
      ++run.failed;
      return;
    case ChildState::Cancelled:
      ++run.cancelled;
      return;
    case ChildState::Waiting:
    case ChildState::Started:
      return;
  }
}

}  // namespace

// --- finding

Run* State::resident_run(const RunId& id) const {
  if (Run* run = runs_.find(id)) {
    if (run->dirty_since == 0 && run->in_flight == 0) {
      clean_runs_.remove(*run);
      clean_runs_.push_newest(*run);
    }
    return run;
  }
  auto row = cold_.get(Space::Run, id.bytes());
  if (!row) return nullptr;
  auto run = std::make_unique<Run>();
  PAWL_CHECK(decode_run(*row, *run));
  run->has_row = run->row_durable = true;
  run->due_on_disk_ms = run->due_ms();
  Run& resident = runs_.insert(std::move(run));
  clean_runs_.push_newest(resident);
  return &resident;
}

const Run* State::find_run(const RunId& id) const {
  const Run* run = resident_run(id);
  return run != nullptr && !run->forgotten ? run : nullptr;
}

bool State::held_plan(const Run& run, uint32_t index, PlanNode& out) const {
  auto at = run.held.find(index);
  if (at != run.held.end()) return codec::decode(at->second, out);
  auto row = cold_.get(Space::RunChild, child_row_key(run.id, index));
  return row && codec::decode(*row, out);
}

RunId State::each_run(const RunId& from, bool newest_first, size_t scan_max,
                      FunctionRef<bool(const Run&)> visit) const {
  std::set<RunId> ids;
  auto in_range = [&](const RunId& id) {
    return from.is_nil() || (newest_first ? !(from < id) : !(id < from));
  };
  auto consider = [&](Resident* entity) {
    if (entity->kind == EntityKind::Run && in_range(static_cast<Run*>(entity)->id))
      ids.insert(static_cast<Run*>(entity)->id);
  };
  for (const auto& set : in_flight_)
    for (Resident* entity : set) consider(entity);
  dirty_.each(consider);
  std::string low = newest_first || from.is_nil() ? "" : from.bytes();
  std::string high = newest_first && !from.is_nil() ? from.bytes() + '\0' : "";
  size_t limit = scan_max == SIZE_MAX ? scan_max : scan_max + 1;
  cold_.scan(Space::Run, low, high, newest_first, limit,
             [&](std::string_view key, std::string_view) {
               ids.insert(RunId(*Uuid::from_bytes(key)));
               return true;
             });
  std::vector<RunId> order(ids.begin(), ids.end());
  if (newest_first) std::reverse(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == scan_max) return order[i];
    const Run* run = find_run(order[i]);
    if (run != nullptr && !visit(*run)) return RunId();
  }
  return RunId();
}

// --- events

Run* State::run_for(const RunId& id, Stamp stamp) {
  Run* run = resident_run(id);
  if (run == nullptr || run->forgotten || run->version >= stamp.sequence) return nullptr;
  changed(*run, stamp);
  return run;
}

void State::set_deadline(Run& run, int64_t deadline_ms) {
  if (run.due_ms() != 0) timers_.erase({run.due_ms(), TimerKind::Run, run.id});
  run.deadline_ms = deadline_ms;
  if (run.due_ms() != 0) timers_.insert({run.due_ms(), TimerKind::Run, run.id});
}

// A job or nested run fills this place now.
void State::child_started(const JobParent& parent, const Uuid& child, Stamp stamp) {
  if (parent.run.is_nil() || is_callback(parent.node)) return;
  Run* run = run_for(parent.run, stamp);
  if (run == nullptr) return;
  run->children[parent.node] = static_cast<char>(ChildState::Started);
  if (child != child_id(run->id, parent.node)) run->ids[parent.node] = child;
  if (parent.node >= run->next_child) run->next_child = parent.node + 1;
}

void State::apply(const RunCreated& event, Stamp stamp) {
  child_started(event.parent, event.run, stamp);
  if (resident_run(event.run) != nullptr) return;  // its row is newer
  auto fresh = std::make_unique<Run>();
  fresh->id = event.run;
  fresh->kind = event.kind;
  fresh->state = RunState::Running;
  fresh->name = event.name;
  fresh->tenant = event.tenant;
  fresh->meta = event.meta;
  fresh->client_id = event.client_id;
  fresh->parent = event.parent;
  fresh->total = event.total;
  fresh->job_count = event.job_count;
  fresh->concurrency = event.concurrency;
  fresh->created_ms = stamp.time_ms;
  fresh->timeout_ms = event.timeout_ms;
  fresh->on_timeout = event.on_timeout;
  fresh->children.assign(event.total, static_cast<char>(ChildState::Waiting));
  for (const HeldChild& child : event.held) fresh->held[child.index] = child.plan;
  Run& run = runs_.insert(std::move(fresh));
  changed(run, stamp);
  if (run.timeout_ms != 0) set_deadline(run, stamp.time_ms + run.timeout_ms);
}

void State::apply(const RunStarted& event, Stamp stamp) {
  if (Run* run = run_for(event.run, stamp)) run->started_ms = stamp.time_ms;
}

void State::apply(const RunChildDone& event, Stamp stamp) {
  Run* run = run_for(event.run, stamp);
  if (run == nullptr) return;
  if (is_callback(event.index)) {
    run->callbacks_done |= role_bit(callback_role(event.index));
    if (event.outcome != ChildState::Completed)
      run->callbacks_failed |= role_bit(callback_role(event.index));
    return;
  }
  run->children[event.index] = static_cast<char>(event.outcome);
  count_child(*run, event.outcome);
  if (!event.reason.empty()) run->reasons[event.index] = event.reason;
}

void State::apply(const RunCallbackFired& event, Stamp stamp) {
  if (Run* run = run_for(event.run, stamp)) run->callbacks_fired |= role_bit(event.role);
}

void State::apply(const RunFinished& event, Stamp stamp) {
  Run* run = run_for(event.run, stamp);
  if (run == nullptr) return;
  set_deadline(*run, 0);
  run->state = event.state;
  run->finished_ms = stamp.time_ms;
  run->reason = event.reason;
}

void State::apply(const RunRetried& event, Stamp stamp) {
  Run* run = run_for(event.run, stamp);
  if (run == nullptr) return;
  run->state = RunState::Running;
  ++run->generation;
  run->finished_ms = 0;
  run->reason.clear();
  run->callbacks_fired = run->callbacks_done = run->callbacks_failed = 0;
  run->failed = run->cancelled = 0;
  for (char& child : run->children) {
    auto state = static_cast<ChildState>(child);
    if (state == ChildState::Failed || state == ChildState::Cancelled)
      child = static_cast<char>(ChildState::Waiting);
  }
  for (uint32_t index : event.restart) {
    run->children[index] = static_cast<char>(ChildState::Started);
    run->reasons.erase(index);
  }
  if (run->timeout_ms != 0) set_deadline(*run, stamp.time_ms + run->timeout_ms);
}

void State::apply(const RunForgotten& event, Stamp stamp) {
  Run* run = run_for(event.run, stamp);
  if (run == nullptr) return;
  set_deadline(*run, 0);
  run->forgotten = true;
}

// --- rows

void State::collect_run(Run& run, std::vector<Row>& out) {
  int64_t due_ms = run.due_ms();
  if (run.due_on_disk_ms != due_ms) {
    if (run.due_on_disk_ms != 0)
      out.push_back(
          {Space::Due, due_row_key({run.due_on_disk_ms, TimerKind::Run, run.id}), std::nullopt});
    if (due_ms != 0) out.push_back({Space::Due, due_row_key({due_ms, TimerKind::Run, run.id}), ""});
    run.due_on_disk_ms = due_ms;
  }
  if (!run.forgotten) {
    if (!run.has_row)
      for (const auto& [index, plan] : run.held)
        out.push_back({Space::RunChild, child_row_key(run.id, index), plan});
    out.push_back({Space::Run, run.id.bytes(), encode_run(run)});
  } else if (run.has_row) {
    std::string prefix = run.id.bytes();
    for (const auto& [index, plan] : run.held)
      out.push_back({Space::RunChild, child_row_key(run.id, index), std::nullopt});
    cold_.scan(Space::RunChild, prefix, prefix_end(prefix), false, SIZE_MAX,
               [&](std::string_view key, std::string_view) {
                 out.push_back({Space::RunChild, std::string(key), std::nullopt});
                 return true;
               });
    out.push_back({Space::Run, run.id.bytes(), std::nullopt});
  }
  run.has_row = !run.forgotten;
}

void State::settle_run(Run& run) {
  if (run.forgotten) {
    runs_.erase(run.id);
    return;
  }
  if (run.due_ms() != 0) timers_.settled({run.due_ms(), TimerKind::Run, run.id});
  clean_runs_.push_newest(run);
}

}  // namespace pawl
