// Run: one composition of children (jobs or nested runs) and its progress; or the run of a
// definition, or an instance of a module, whose own parts are in `script` and `instance`.
//
// A child's id is derived from the run's id, its salt and the child's place, so a run of a hundred
// thousand jobs needs one byte for each. Children that have not started are separate rows
// (Space::RunChild), read when they start.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "journal/events.h"
#include "kernel/resident.h"

namespace pawl {

class State;
struct ScriptRun;    // scripts/run.h
struct InstanceRun;  // worlds/instance_run.h

// The dependencies of a dag's children. Derived from their plans and states; in memory only.
struct DagLinks {
  std::vector<std::vector<uint32_t>> depends_on;
  std::vector<std::vector<uint32_t>> dependents;
  std::vector<uint32_t> open;  // per child, how many it still waits for; empty: to be counted
};

struct Run : Resident {
  Run();
  ~Run();
  Run(Run&&) noexcept;
  Run& operator=(Run&&) noexcept;

  RunId id;
  RunKind kind = RunKind::None;
  RunState state = RunState::None;
  RunTimeout on_timeout = RunTimeout::Fail;
  std::string name;
  std::string tenant;
  std::string meta;
  JobParent parent;
  uint32_t total = 0;
  uint32_t job_count = 0;
  uint32_t completed = 0;  // direct children that completed or were skipped
  uint32_t failed =
      0;  // direct children that failed; while the run goes on, also cancelled and expired ones
  uint32_t cancelled =
      0;  // direct children that were cancelled because the run had ended or could not go on
  uint32_t concurrency = 0;
  uint32_t generation = 0;       // how often it was retried
  uint32_t callbacks_fired = 0;  // bit per CallbackRole, of this generation
  uint32_t callbacks_done = 0;
  uint32_t callbacks_failed = 0;
  uint32_t next_child = 0;  // of a map: the first that has never started
  uint64_t salt = 0;
  int64_t created_ms = 0;
  int64_t started_ms = 0;
  int64_t finished_ms = 0;
  int64_t deadline_ms = 0;
  int64_t timeout_ms = 0;
  int64_t yielded_ms = 0;        // since when it waits for its next turn; for scripts see ScriptRun
  std::string children;          // ChildState, one byte each
  std::string reason;            // of its end
  std::string client_id;         // the text that a client chose as id, if it is no UUID
  uint32_t children_at = 0;      // as in RunCreated
  bool named_steps = false;      // children have step ids from the client: see PlanNode
  std::map<uint32_t, Uuid> ids;  // children whose id a client chose
  std::map<uint32_t, std::string>
      reasons;  // children that failed or were skipped without a job of their own
  std::unique_ptr<ScriptRun> script;      // of a definition's run: everything about its steps
  std::unique_ptr<InstanceRun> instance;  // of an instance of a module

  // In memory only.
  uint32_t at_work = 0;                  // children that are Started
  std::map<uint32_t, std::string> held;  // PlanNode, encoded, of children not yet on disk
  bool forgotten = false;
  bool has_row = false;
  bool row_durable = false;
  int64_t due_on_disk_ms = 0;
  bool busy_on_disk = false;
  int64_t lined_up_ms = 0;  // its place among the runs that have yielded
  // Of a dag; null of all others. Filled from the plans when first needed (dag_links()).
  std::unique_ptr<DagLinks> dag;

  ChildState child(uint32_t index) const { return static_cast<ChildState>(children[index]); }
  uint32_t done() const { return completed + failed + cancelled; }
  int64_t due_ms() const { return state == RunState::Running && !forgotten ? deadline_ms : 0; }
};

inline bool is_terminal(RunState state) {
  return state != RunState::Running && state != RunState::None;
}

// The part of a run's row that only its family knows. Empty for compositions.
struct RunPart {
  std::string script;
  uint64_t held_bytes = 0;
  uint64_t next_part = 0;
  std::string instance;
};

// The logical contents of the run. Its row also has its size, and omits texts with their own rows
// (run_parts.h).
std::string encode_run(const Run& run);
std::string encode_run_row(const Run& run);
bool decode_run(std::string_view bytes, Run& run);

// Counts one more child, in a Run or in the RunEventHead of an event.
void count_child(auto& counts, ChildState outcome) {
  switch (outcome) {
    case ChildState::Completed:
    case ChildState::Skipped:
      ++counts.completed;
      return;
    case ChildState::Failed:
      ++counts.failed;
      return;
    case ChildState::Cancelled:
      ++counts.cancelled;
      return;
    case ChildState::Waiting:
    case ChildState::Started:
      return;
  }
}

// Its id for clients.
inline std::string shown_id(const Run& run) {
  return run.client_id.empty() ? run.id.text() : run.client_id;
}

std::string_view kind_name(RunKind kind);
std::string_view state_name(RunState state);
std::string_view role_name(CallbackRole role);

// Callbacks have indexes after the children: one per role and generation.
constexpr uint32_t kCallbackBase = 0x80000000u;
inline bool is_callback(uint32_t index) { return index >= kCallbackBase; }
inline uint32_t callback_index(CallbackRole role, uint32_t generation) {
  return kCallbackBase | generation << 4 | static_cast<uint32_t>(role);
}
inline CallbackRole callback_role(uint32_t index) { return static_cast<CallbackRole>(index & 0xf); }
inline uint32_t callback_generation(uint32_t index) { return (index & ~kCallbackBase) >> 4; }
// The plan of a callback is held under the index of its role in generation 0.
inline uint32_t held_callback(CallbackRole role) { return callback_index(role, 0); }

// The id of the job or nested run at this place, unless a client chose it. A run with a chosen id
// has a salt: a second run with that id must not find children of the first.
Uuid child_id(const RunId& run, uint64_t salt, uint32_t index);
// Their ids name the partition of the run, also if its own does not.
RunId child_base(const Run& run);
inline Uuid child_id(const Run& run, uint32_t index) {
  return child_id(child_base(run), run.salt, index);
}
uint32_t children_mark(const State& state, const RunId& run);  // children_at of a new run

}  // namespace pawl
