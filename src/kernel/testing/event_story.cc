#include "kernel/testing/event_story.h"

namespace pawl {

void JobNames::give(const JobId& id, const std::string& name) {
  if (names_.count(id) == 0) ++jobs_;
  names_[id] = name;
  ids_[name] = id;
}

std::string JobNames::rename(std::string text) const {
  for (const auto& [id, name] : names_)
    for (size_t at; (at = text.find(id.text())) != std::string::npos;)
      text.replace(at, id.text().size(), name);
  return text;
}

const std::string& JobNames::of(const Uuid& id, const char* prefix, size_t& count) {
  std::string& name = names_[id];
  if (name.empty()) {
    name = prefix + std::to_string(++count);
    ids_[name] = id;
  }
  return name;
}

Uuid JobNames::uuid(const std::string& name) const {
  auto at = ids_.find(name);
  return at == ids_.end() ? Uuid::v7(1, 2, 3, 0) : at->second;
}

std::string EventStory::tell(uint64_t number, std::string_view record) {
  auto events = journal::read_record(number, record);
  if (!events.ok()) return events.error().message;
  std::string line;
  for (const journal::EventBytes& event : *events)
    line += (line.empty() ? "" : " | ") + tell(event);
  return line.empty() ? "nothing" : line;
}

std::string EventStory::tell(const journal::EventBytes& event) {
  now_ms_ = event.time_ms;
  std::string line(event_name(event.type));
  switch (event.type) {
#define PAWL_EVENT(number, name)                                     \
  case EventType::name: {                                            \
    name decoded;                                                    \
    if (!codec::decode(event.bytes, decoded)) return line + "(bad)"; \
    std::string inside = details(decoded);                           \
    if (!inside.empty() && inside.back() == ' ') inside.pop_back();  \
    return line + "(" + inside + ")";                                \
  }
#include "journal/event_types.def"
#undef PAWL_EVENT
  }
  return line;
}

std::string EventStory::relative(int64_t at_ms) const {
  int64_t delta = at_ms - now_ms_;
  return (delta < 0 ? "" : "+") + std::to_string(delta);
}

std::string EventStory::details(const JobCreated& e) {
  std::string line = job(e) + " " + std::string(state_name(e.state));
  return e.state == JobState::Scheduled ? line + when(e.scheduled_ms) : line;
}

std::string EventStory::details(const JobFailed& e) {
  return job(e) + attempt(e) + " " + std::string(state_name(e.to)) + when(e.retry_at_ms) +
         (e.dead_letter ? " dead_letter " : " ") + e.error.code;
}

std::string EventStory::details(const JobRequeued& e) {
  if (e.reason == RequeueReason::Changed)
    return job(e) + " changed " + std::string(state_name(e.to)) + " priority " +
           std::to_string(e.priority) + when(e.scheduled_ms);
  return job(e) + (e.reason == RequeueReason::Returned ? " returned" : " lease_expired");
}

std::string EventStory::details(const JobsForgotten& e) {
  std::string line = e.queue;
  for (const JobId& id : e.jobs) line += " " + names_.of(id);
  return line;
}

std::string EventStory::details(const CheckpointSaved& e) {
  return job(e) + " " + std::to_string(e.sequence) + " " + e.state;
}

std::string EventStory::details(const ProgressReported& e) {
  return job(e) + " " + e.progress + " " + e.message;
}

std::string EventStory::details(const QueueConfigured& e) {
  std::string line = e.queue + (e.settings.paused ? " paused" : "");
  if (e.settings.depth_max != 0) line += " depth=" + std::to_string(e.settings.depth_max);
  if (e.settings.rate_per_second != 0)
    line += " rate=" + std::to_string(e.settings.rate_per_second);
  return line;
}

std::string EventStory::details(const LimitConfigured& e) {
  std::string line = e.key;
  if (e.settings.concurrency != 0) line += " concurrency=" + std::to_string(e.settings.concurrency);
  if (e.settings.rate != 0)
    line += " rate=" + std::to_string(e.settings.rate) + "/" +
            std::to_string(e.settings.period_ms) + "ms";
  return line;
}

std::string EventStory::details(const CronFired& e) {
  return e.name + " " + names_.of(e.job) + " due" + when(e.due_ms) + " next" + when(e.next_ms);
}

std::string EventStory::details(const CronSkipped& e) {
  return e.name + " '" + e.reason + "' due" + when(e.due_ms) + " next" + when(e.next_ms);
}

std::string EventStory::place(const RunId& run, uint32_t index) {
  return names_.of(run) + "/" +
         (is_callback(index) ? std::string(role_name(callback_role(index)))
                             : std::to_string(index));
}

std::string EventStory::outcome_name(ChildState outcome) {
  constexpr const char* kNames[] = {"waiting", "started", "done", "failed", "cancelled", "skipped"};
  return kNames[static_cast<size_t>(outcome)];
}

std::string EventStory::details(const RunCreated& e) {
  std::string line =
      names_.of(e.run) + " " + std::string(kind_name(e.kind)) + " of " + std::to_string(e.total);
  return e.parent.run.is_nil() ? line
                               : line + " as " + place(e.parent.run, index_of(e.parent.place));
}

std::string EventStory::details(const RunChildDone& e) {
  return place(e.run, e.index) + " " + outcome_name(e.outcome) +
         (e.reason.empty() ? "" : ": " + names_.rename(e.reason));
}

std::string EventStory::details(const RunCallbackFired& e) {
  return names_.of(e.run) + " " + std::string(role_name(e.role)) + " " + names_.of(e.job);
}

std::string EventStory::details(const RunFinished& e) {
  return names_.of(e.run) + " " + std::string(state_name(e.state)) +
         (e.reason.empty() ? "" : ": " + e.reason);
}

std::string EventStory::details(const RunRetried& e) {
  std::string line = names_.of(e.run);
  for (uint32_t index : e.restart) line += " " + std::to_string(index);
  return line;
}

}  // namespace pawl
