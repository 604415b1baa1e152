#include "kernel/run.h"

#include <algorithm>

#include "base/clock.h"
#include "base/named.h"
#include "kernel/messages/placing.h"
#include "kernel/run_family.h"
#include "kernel/scripts/run.h"
#include "kernel/state.h"
#include "kernel/worlds/instance_run.h"

namespace pawl {
namespace {

constexpr Named<CallbackRole> kRoleNames[] = {{"on_complete", CallbackRole::OnComplete},
                                              {"on_success", CallbackRole::OnSuccess},
                                              {"on_failure", CallbackRole::OnFailure},
                                              {"on_cancel", CallbackRole::OnCancel}};

constexpr Named<RunState> kRunStateNames[] = {{"running", RunState::Running},
                                              {"completed", RunState::Completed},
                                              {"failed", RunState::Failed},
                                              {"cancelled", RunState::Cancelled}};

constexpr Named<RunKind> kRunKindNames[] = {{"chain", RunKind::Chain},  {"group", RunKind::Group},
                                            {"batch", RunKind::Batch},  {"dag", RunKind::Dag},
                                            {"map", RunKind::Map},      {"dag", RunKind::Script},
                                            {"module", RunKind::Module}};

struct ReasonEntry {
  uint32_t index = 0;
  std::string reason;

  static void fields(auto& self, auto&& visit) {
    visit(1, "index", self.index);
    visit(2, "reason", self.reason);
  }
};

struct IdEntry {
  uint32_t index = 0;
  Uuid id;

  static void fields(auto& self, auto&& visit) {
    visit(1, "index", self.index);
    visit(2, "id", self.id);
  }
};

template <class RunType>  // Run, or const Run where it is only written
struct RunRow {
  RunType* run;
  std::vector<ReasonEntry> reasons;
  std::vector<IdEntry> ids;
  RunPart part;

  static void fields(auto& self, auto&& visit) {
    RunType& run = *self.run;
    visit(1, "id", run.id);
    visit(2, "version", run.version);
    visit(3, "kind", run.kind);
    visit(4, "state", run.state);
    visit(5, "on_timeout", run.on_timeout);
    visit(6, "name", run.name);
    visit(7, "tenant", run.tenant);
    visit(8, "meta", run.meta);
    visit(9, "parent", run.parent);
    visit(10, "total", run.total);
    visit(11, "job_count", run.job_count);
    visit(12, "completed", run.completed);
    visit(13, "failed", run.failed);
    visit(14, "concurrency", run.concurrency);
    visit(15, "generation", run.generation);
    visit(16, "callbacks_fired", run.callbacks_fired);
    visit(17, "callbacks_done", run.callbacks_done);
    visit(18, "callbacks_failed", run.callbacks_failed);
    visit(19, "next_child", run.next_child);
    visit(20, "created_ms", run.created_ms);
    visit(21, "started_ms", run.started_ms);
    visit(22, "finished_ms", run.finished_ms);
    visit(23, "deadline_ms", run.deadline_ms);
    visit(24, "children", run.children);
    visit(25, "reason", run.reason);
    visit(26, "reasons", self.reasons);
    visit(27, "cancelled", run.cancelled);
    visit(28, "timeout_ms", run.timeout_ms);
    visit(29, "client_id", run.client_id);
    visit(30, "ids", self.ids);
    visit(40, "script", self.part.script);
    visit(31, "salt", run.salt);
    visit(32, "yielded_ms", run.yielded_ms);
    visit(41, "held_bytes", self.part.held_bytes);
    visit(42, "next_part", self.part.next_part);
    visit(43, "instance", self.part.instance);
    visit(33, "named_steps", run.named_steps);
    visit(34, "children_at", run.children_at);
  }
};

}  // namespace

Run::Run() : Resident(EntityKind::Run) {}
Run::~Run() = default;
Run::Run(Run&&) noexcept = default;
Run& Run::operator=(Run&&) noexcept = default;

namespace {

std::string encode(const Run& run, bool as_row) {
  RunRow<const Run> row{&run, {}, {}, {}};
  for (const auto& [index, id] : run.ids) row.ids.push_back({index, id});
  for (const auto& [index, reason] : run.reasons) row.reasons.push_back({index, reason});
  family_of(run).encode_part(run, as_row, row.part);
  return codec::encoded(row);
}

}  // namespace

std::string encode_run(const Run& run) { return encode(run, false); }
std::string encode_run_row(const Run& run) { return encode(run, true); }

bool decode_run(std::string_view bytes, Run& run) {
  RunRow<Run> row{&run, {}, {}, {}};
  if (!codec::decode(bytes, row)) return false;
  for (ReasonEntry& entry : row.reasons) run.reasons[entry.index] = std::move(entry.reason);
  for (const IdEntry& entry : row.ids) run.ids[entry.index] = entry.id;
  run.at_work = static_cast<uint32_t>(
      std::count(run.children.begin(), run.children.end(), static_cast<char>(ChildState::Started)));
  if (run.kind == RunKind::Dag) run.dag = std::make_unique<DagLinks>();
  if (!family_of(run).decode_part(row.part, run)) return false;
  return run.children.size() == run.total;
}

std::string_view kind_name(RunKind kind) { return name_of(kRunKindNames, kind); }

std::string_view state_name(RunState state) { return name_of(kRunStateNames, state); }

std::string_view role_name(CallbackRole role) { return name_of(kRoleNames, role); }

RunId child_base(const Run& run) {
  if (run.children_at == 0) return run.id;
  return RunId(at_partition(run.id, partition_of_mark(run.children_at)));
}

uint32_t children_mark(const State& state, const RunId& run) {
  if (state.partitions() == 1 || run.partition() == state.partition()) return 0;
  return uint32_t{state.partition()} + 1;
}

Uuid child_id(const RunId& run, uint64_t salt, uint32_t index) {
  uint64_t low = run.lo ^ salt;
  uint64_t a = mix64(run.hi ^ mix64(low ^ mix64(index)));
  return Uuid::v7(run.unix_ms(), a, mix64(a ^ low), run.partition());
}

}  // namespace pawl
