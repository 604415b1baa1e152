// Runs of every kind in the state: lookup, timers, turns and rows.
#include <algorithm>

#include "kernel/cold.h"
#include "kernel/keys.h"
#include "kernel/mutable_state.h"
#include "kernel/resident.h"
#include "kernel/run.h"
#include "kernel/run_family.h"
#include "kernel/state_memory.h"
#include "plan/ojs/plan_node.h"

namespace pawl {
namespace {

std::string child_row_key(const RunId& run, uint32_t index) {
  std::string key = run.bytes();
  put_big_endian(key, index, 4);
  return key;
}

// As the list of runs in memory counts it.
uint32_t weight_of(const Run& run) {
  constexpr uint64_t kPerDagChild = 64;  // its dependencies
  constexpr uint64_t kPerChosenId = 64;
  uint64_t bytes = run.children.size() + (run.dag ? run.dag->dependents.size() * kPerDagChild : 0) +
                   run.ids.size() * kPerChosenId;
  bytes += family_of(run).held_bytes(run);
  return static_cast<uint32_t>(std::min<uint64_t>(bytes, UINT32_MAX));
}

}  // namespace

RunRows State::run_rows() const {
  return {cold_, memory_->texts_in_memory, config_.part_bytes_min};
}

// --- finding

Run* State::resident_run(const RunId& id) const {
  if (Run* run = memory_->runs.find(id)) {
    if (run->dirty_since == 0 && run->in_flight == 0) {
      memory_->clean_runs.remove(*run);
      memory_->clean_runs.push_newest(*run, weight_of(*run));
    }
    return run;
  }
  auto row = cold_.get(Space::Run, id.bytes());
  if (!row) return nullptr;
  memory_->bytes_read += row->size();
  auto run = std::make_unique<Run>();
  if (!decode_run(*row, *run)) unreadable_row("run", id.text());
  run->has_row = run->row_durable = true;
  run->due_on_disk_ms = run->due_ms();
  run->busy_on_disk = family_of(*run).is_busy(*run);
  Run& resident = memory_->runs.insert(std::move(run));
  family_of(resident).connect(run_rows(), resident);
  family_of(resident).load(*this, resident);
  memory_->clean_runs.push_newest(resident, weight_of(resident));
  line_up(resident);
  if (!memory_->to_recall.empty() && memory_->to_recall.erase(id) != 0) recall_effects(resident);
  return &resident;
}

const Run* State::find_run(const RunId& id) const {
  const Run* run = resident_run(id);
  return run != nullptr && !run->forgotten ? run : nullptr;
}

bool State::held_plan(const Run& run, uint32_t index, PlanNode& out) const {
  auto at = run.held.find(index);
  if (at != run.held.end()) return codec::decode(at->second, out);
  if (!run.row_durable) return false;  // the row on disk belongs to a deleted run with this id
  auto row = cold_.get(Space::RunChild, child_row_key(run.id, index));
  if (row && !codec::decode(*row, out)) unreadable_row("child of run", run.id.text());
  return row.has_value();
}

RunId State::each_run(const RunId& from, bool newest_first, size_t scan_max,
                      FunctionRef<bool(const Run&)> visit) const {
  auto before = [&](const RunId& a, const RunId& b) { return newest_first ? b < a : a < b; };
  std::vector<const Run*> changed_ones;  // may have no row yet
  auto consider = [&](const Resident* entity) {
    if (entity->kind != EntityKind::Run) return;
    auto* run = static_cast<const Run*>(entity);
    if (!run->forgotten && (from.is_nil() || !before(run->id, from))) changed_ones.push_back(run);
  };
  for (const auto& set : memory_->in_flight)
    for (const Resident* entity : set) consider(entity);
  memory_->dirty.each(consider);
  std::sort(changed_ones.begin(), changed_ones.end(),
            [&](const Run* a, const Run* b) { return before(a->id, b->id); });
  changed_ones.erase(std::unique(changed_ones.begin(), changed_ones.end()), changed_ones.end());

  size_t next = 0;
  size_t scanned = 0;
  bool going = true;
  RunId go_on;
  auto offer = [&](const Run& run) {
    if (scanned++ == scan_max) {
      go_on = run.id;
      return going = false;
    }
    return going = visit(run);
  };
  auto offer_changed_before = [&](const RunId* id) {
    while (going && next < changed_ones.size() &&
           (id == nullptr || before(changed_ones[next]->id, *id)))
      offer(*changed_ones[next++]);
    return going;
  };
  std::string low = newest_first || from.is_nil() ? "" : from.bytes();
  std::string high = newest_first && !from.is_nil() ? from.bytes() + '\0' : "";
  cold_.scan(Space::Run, low, high, newest_first, SIZE_MAX,
             [&](std::string_view key, std::string_view value) {
               RunId id(*Uuid::from_bytes(key));
               if (!offer_changed_before(&id)) return false;
               if (const Run* resident = memory_->runs.find(id)) {
                 if (next < changed_ones.size() && changed_ones[next] == resident) ++next;
                 return resident->forgotten || offer(*resident);
               }
               Run run;  // read but not kept: a walk must not fill the memory
               if (!decode_run(value, run)) unreadable_row("run", id.text());
               family_of(run).connect(run_rows(), run);
               run.has_row = run.row_durable = true;
               return offer(run);
             });
  offer_changed_before(nullptr);
  return go_on;
}

// --- events

Run* MutableState::run_for(const RunId& id, Stamp stamp) {
  Run* run = resident_run(id);
  if (run == nullptr || run->forgotten || run->version >= stamp.sequence) return nullptr;
  changed(*run, stamp);
  return run;
}

void MutableState::set_deadline(Run& run, int64_t deadline_ms) {
  if (run.due_ms() != 0) memory_->timers.erase({run.due_ms(), TimerKind::Run, run.id});
  run.deadline_ms = deadline_ms;
  if (run.due_ms() != 0) memory_->timers.insert({run.due_ms(), TimerKind::Run, run.id});
}

// Adds it to the runs that have yielded, if it has.
void State::line_up(Run& run) const {
  const RunFamily& family = family_of(run);
  bool rests = run.state != RunState::Running || run.forgotten || family.is_paused(run);
  int64_t since_ms = rests ? 0 : family.yielded_since(run);
  if (since_ms == run.lined_up_ms) return;
  if (run.lined_up_ms != 0) memory_->yielded.erase({run.lined_up_ms, run.id});
  if (since_ms != 0) memory_->yielded.emplace(since_ms, run.id);
  run.lined_up_ms = since_ms;
}

void MutableState::apply(const RunYielded& event, Stamp stamp) {
  Run* run = run_for(event.run, stamp);
  if (run == nullptr) return;
  // Yields or resumes: not before the next millisecond, so never in the same frame.
  run->yielded_ms = run->yielded_ms == 0 ? stamp.time_ms + 1 : 0;
  line_up(*run);
}

void MutableState::apply(const RunForgotten& event, Stamp stamp) {
  Run* run = run_for(event.run, stamp);
  if (run == nullptr) return;
  set_deadline(*run, 0);
  run->forgotten = true;
  line_up(*run);
}

// --- rows

void MutableState::collect_run(Run& run, std::vector<Row>& out) {
  int64_t due_ms = run.due_ms();
  if (run.due_on_disk_ms != due_ms) {
    if (run.due_on_disk_ms != 0)
      out.push_back(
          {Space::Due, due_row_key({run.due_on_disk_ms, TimerKind::Run, run.id}), std::nullopt});
    if (due_ms != 0) out.push_back({Space::Due, due_row_key({due_ms, TimerKind::Run, run.id}), ""});
    run.due_on_disk_ms = due_ms;
  }
  const RunFamily& family = family_of(run);
  if (bool busy = !run.forgotten && family.is_busy(run); busy != run.busy_on_disk) {
    Row row{Space::Busy, run.id.bytes(), std::nullopt};
    if (busy) row.value = "";
    out.push_back(std::move(row));
    run.busy_on_disk = busy;
  }
  if (!run.forgotten) {
    if (!run.has_row)
      for (const auto& [index, plan] : run.held)
        out.push_back({Space::RunChild, child_row_key(run.id, index), plan});
    std::string row = family.collect(run_rows(), run, out);
    out.push_back({Space::Run, run.id.bytes(), std::move(row)});
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
    family.collect_removal(run_rows(), run, out);
  } else {
    family.collect_nothing(run);
  }
  run.has_row = !run.forgotten;
}

void MutableState::settle_run(Run& run) {
  if (run.forgotten) {
    if (memory_->buried_runs.erase(&run) == 0) memory_->runs.erase(run.id);
    return;
  }
  if (run.due_ms() != 0) memory_->timers.settled({run.due_ms(), TimerKind::Run, run.id});
  if (!family_of(run).stays_in_memory(run)) return memory_->runs.erase(run.id);
  memory_->clean_runs.push_newest(run, weight_of(run));
}

}  // namespace pawl
