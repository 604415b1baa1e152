// Applies what happens to instances of modules to the list of runs.
#include "base/plant.h"
#include "journal/events.h"
#include "kernel/mutable_state.h"
#include "kernel/run.h"
#include "kernel/state_memory.h"
#include "kernel/worlds/instance_run.h"

namespace pawl {
namespace {

RunState run_state_of(InstanceState state) {
  switch (state) {
    case InstanceState::Running:
    case InstanceState::Waiting:
      return RunState::Running;
    case InstanceState::Completed:
      return RunState::Completed;
    case InstanceState::Failed:
    case InstanceState::Forgotten:
      return RunState::Failed;
  }
  return RunState::Failed;
}

std::unique_ptr<Run> instance_run(const InstanceMoved& event, int64_t now_ms) {
  auto run = std::make_unique<Run>();
  run->id = event.run;
  run->kind = RunKind::Module;
  run->name = event.module;
  run->tenant = event.tenant;
  run->created_ms = run->started_ms = now_ms;
  run->instance = std::make_unique<InstanceRun>();
  run->instance->world = event.world;
  run->instance->world_name = event.world_name;
  run->instance->module = event.module;
  run->instance->key = event.key;
  run->instance->key_json = event.key_json;
  return run;
}

}  // namespace

void MutableState::apply(const InstanceMoved& event, Stamp stamp) {
  Run* run = resident_run(event.run);
  if (run != nullptr && run->version >= stamp.sequence) return;  // its row is newer
  if (run != nullptr && run->forgotten && event.to != InstanceState::Forgotten) {
    memory_->buried_runs.emplace(run, memory_->runs.take(run->id));
    run = nullptr;
  }
  if (run == nullptr) {
    if (event.to == InstanceState::Forgotten) return;
    run = &memory_->runs.insert(instance_run(event, stamp.time_ms));
  }
  changed(*run, stamp);
  run->forgotten = event.to == InstanceState::Forgotten;
  InstanceRun& instance = *run->instance;
  instance.status = event.to;
  if (!has_bug(Bug::RunKeepsItsVersion) || instance.version.empty())
    instance.version = event.version;
  instance.error_code = event.error_code;
  instance.error_detail = event.error_detail;
  run->state = run_state_of(event.to);
  run->finished_ms = is_terminal(run->state) ? stamp.time_ms : 0;
  run->reason = event.error_detail.empty() ? event.error_code : event.error_detail;
}

}  // namespace pawl
