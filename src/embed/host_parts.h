// The members of a Host. Included by its own files only.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "embed/agent_pool.h"
#include "embed/capability_book.h"
#include "embed/event_desk.h"
#include "embed/host.h"
#include "embed/instance_names.h"
#include "embed/state_files.h"
#include "kernel/run.h"
#include "runtime/runtime.h"

namespace pawl::embed {

struct Host::Parts {
  explicit Parts(EngineOptions given);

  EngineOptions options;
  InstanceNames names;  // used by capabilities: outlives the runtime
  Runtime runtime;
  CapabilityBook capabilities;
  AgentPool agents;
  EventDesk desk;
  std::unique_ptr<StateFiles> files;        // null: no files are written
  std::unique_ptr<JournalFollower> events;  // of the desk
  std::mutex starting;
  std::atomic<bool> started{false};
  std::set<RunId> live;  // engine thread: instances that had not ended at the last check
};

// The run of an instance, or "Workflow instance 'x' not found". Engine thread.
Result<const Run*> find_instance(const State& state, const std::string& instance);

}  // namespace pawl::embed
