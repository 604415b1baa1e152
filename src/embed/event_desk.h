// EventDesk: passes events of instances to the program's listeners, counts ends of instances, and
// writes log lines.
//
// Threads: take() by the follower's; the rest by any.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "base/value.h"
#include "embed/instance_names.h"
#include "embed/journal_follower.h"
#include "pawl/calls.h"
#include "pawl/options.h"

namespace pawl::embed {

class EventDesk {
 public:
  EventDesk(const EngineOptions& options, InstanceNames& names)
      : options_(options), names_(names) {}

  void take(const JournalFollower::Page& page);

  uint64_t add(EventListener listener);
  void remove(uint64_t id);
  // {started, completed, failed, canceled}
  Value metrics() const;
  // A line for the log, if executions are logged.
  void say(const std::string& line) const;

  WorkflowEvent shown(const OjsEvent& event) const;

 private:
  void count(const WorkflowEvent& event);

  const EngineOptions& options_;
  InstanceNames& names_;
  mutable std::mutex mutex_;
  std::map<uint64_t, EventListener> listeners_;       // guarded by mutex_
  uint64_t last_id_ = 0;                              // guarded by mutex_
  std::map<std::string, int64_t, std::less<>> ends_;  // guarded by mutex_: event type → how many
};

// The position of an event as an increasing number; 0 is before all.
uint64_t public_sequence(const EventPosition& position);
EventPosition position_of(uint64_t public_sequence);

}  // namespace pawl::embed
