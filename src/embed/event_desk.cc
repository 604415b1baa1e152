#include "embed/event_desk.h"

#include <exception>

#include "base/log.h"
#include "base/time.h"

namespace pawl::embed {
namespace {

constexpr uint64_t kParts = EventPosition::kAllParts + 1;

struct Counted {
  std::string_view event;
  const char* name;
};
constexpr Counted kCounted[] = {{"workflow_started", "started"},
                                {"workflow_completed", "completed"},
                                {"workflow_failed", "failed"},
                                {"workflow_cancelled", "canceled"}};

}  // namespace

uint64_t public_sequence(const EventPosition& position) {
  return position.sequence * kParts + position.part;
}

EventPosition position_of(uint64_t public_sequence) {
  return {public_sequence / kParts, static_cast<uint32_t>(public_sequence % kParts)};
}

WorkflowEvent EventDesk::shown(const OjsEvent& event) const {
  WorkflowEvent out;
  out.sequence = public_sequence(event.position);
  out.type = event.type;
  out.instance_id = event.subject == event.run ? names_.of(event.run) : event.subject;
  out.step_id = event.step;
  out.timestamp = format_rfc3339_ms(event.time_ms);
  if (!event.data.empty()) out.data = event.data;
  return out;
}

void EventDesk::say(const std::string& line) const {
  if (!options_.monitoring.log_executions) return;
  if (!options_.log) return log::info(line);
  try {
    options_.log(line);
  } catch (const std::exception& thrown) {
    log::error("the log's function failed", {{"error", thrown.what()}});
  }
}

void EventDesk::count(const WorkflowEvent& event) {
  for (const Counted& counted : kCounted) {
    if (event.type != counted.event) continue;
    say("Workflow instance " + event.instance_id + " " + counted.name);
    if (!options_.monitoring.track_metrics) return;
    std::lock_guard lock(mutex_);
    ++ends_[event.type];
  }
}

void EventDesk::take(const JournalFollower::Page& page) {
  for (const OjsEvent& given : page.events) {
    WorkflowEvent event = shown(given);
    count(event);
    std::map<uint64_t, EventListener> listeners;
    {
      std::lock_guard lock(mutex_);
      listeners = listeners_;
    }
    for (const auto& [id, listener] : listeners) {
      try {
        listener(event);
      } catch (const std::exception& thrown) {
        log::error("a listener failed", {{"event", event.type}, {"error", thrown.what()}});
      }
    }
    bool over = event.type == "workflow_completed" || event.type == "workflow_failed" ||
                event.type == "workflow_cancelled";
    if (over) names_.forget(given.run);
  }
}

uint64_t EventDesk::add(EventListener listener) {
  std::lock_guard lock(mutex_);
  listeners_.emplace(++last_id_, std::move(listener));
  return last_id_;
}

void EventDesk::remove(uint64_t id) {
  std::lock_guard lock(mutex_);
  listeners_.erase(id);
}

Value EventDesk::metrics() const {
  Value::Object out;
  std::lock_guard lock(mutex_);
  for (const Counted& counted : kCounted) {
    auto at = ends_.find(counted.event);
    out.set(counted.name, at == ends_.end() ? int64_t{0} : at->second);
  }
  return out;
}

}  // namespace pawl::embed
