// Events as one readable line, for tests: "JobLeased(j1 w1 #1) | JobFailed(j1 #1 retryable +1000
// E)". Test code.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "journal/record.h"
#include "kernel/jobs/job.h"
#include "kernel/run.h"

namespace pawl {

// Names jobs j1, j2, … and runs r1, r2, … in the order in which they are first seen.
class JobNames {
 public:
  const std::string& of(const JobId& id) { return of(id, "j", jobs_); }
  const std::string& of(const RunId& id) { return of(id, "r", runs_); }
  void give(const JobId& id, const std::string& name) {
    if (names_.count(id) == 0) ++jobs_;
    names_[id] = name;
    ids_[name] = id;
  }
  // An unknown name gives an unused id.
  JobId id(const std::string& name) const { return JobId(uuid(name)); }
  RunId run_id(const std::string& name) const { return RunId(uuid(name)); }
  // Ids in a message → names.
  std::string rename(std::string text) const {
    for (const auto& [id, name] : names_)
      for (size_t at; (at = text.find(id.text())) != std::string::npos;)
        text.replace(at, id.text().size(), name);
    return text;
  }

 private:
  const std::string& of(const Uuid& id, const char* prefix, size_t& count) {
    std::string& name = names_[id];
    if (name.empty()) {
      name = prefix + std::to_string(++count);
      ids_[name] = id;
    }
    return name;
  }
  Uuid uuid(const std::string& name) const {
    auto at = ids_.find(name);
    return at == ids_.end() ? Uuid::v7(1, 2, 3, 0) : at->second;
  }

  std::map<Uuid, std::string> names_;
  std::map<std::string, Uuid> ids_;
  size_t jobs_ = 0;
  size_t runs_ = 0;
};

class EventStory {
 public:
  explicit EventStory(JobNames& names) : names_(names) {}

  // The events of one record, in order; "nothing" if there are none.
  std::string tell(uint64_t number, std::string_view record) {
    auto events = journal::read_record(number, record);
    if (!events.ok()) return events.error().message;
    std::string line;
    for (const journal::EventBytes& event : *events)
      line += (line.empty() ? "" : " | ") + tell(event);
    return line.empty() ? "nothing" : line;
  }

  std::string tell(const journal::EventBytes& event) {
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

 private:
  std::string relative(int64_t at_ms) const {
    int64_t delta = at_ms - now_ms_;
    return (delta < 0 ? "" : "+") + std::to_string(delta);
  }
  std::string when(int64_t at_ms) const { return at_ms == 0 ? "" : " " + relative(at_ms); }
  std::string attempt(const JobStep& step) const { return " #" + std::to_string(step.attempt); }
  const std::string& job(const JobStep& step) { return names_.of(step.job); }

  // Other events are printed by name only.
  template <class Event>
  std::string details(const Event&) {
    return "";
  }
  std::string details(const JobCreated& e) {
    std::string line = job(e) + " " + std::string(state_name(e.state));
    return e.state == JobState::Scheduled ? line + when(e.scheduled_ms) : line;
  }
  std::string details(const JobPromoted& e) { return job(e); }
  std::string details(const JobLeased& e) { return job(e) + " " + e.worker + attempt(e); }
  std::string details(const LeaseExtended& e) { return job(e) + when(e.lease_until_ms); }
  std::string details(const JobCompleted& e) { return job(e) + " " + e.result; }
  std::string details(const JobFailed& e) {
    return job(e) + attempt(e) + " " + std::string(state_name(e.to)) + when(e.retry_at_ms) +
           (e.dead_letter ? " dead_letter " : " ") + e.error.code;
  }
  std::string details(const JobRequeued& e) {
    if (e.reason == RequeueReason::Changed)
      return job(e) + " changed " + std::string(state_name(e.to)) + " priority " +
             std::to_string(e.priority) + when(e.scheduled_ms);
    return job(e) + (e.reason == RequeueReason::Returned ? " returned" : " lease_expired");
  }
  std::string details(const JobCancelled& e) { return job(e) + " " + e.reason; }
  std::string details(const JobExpired& e) { return job(e); }
  std::string details(const JobRevived& e) { return job(e); }
  std::string details(const JobsForgotten& e) {
    std::string line = e.queue;
    for (const JobId& id : e.jobs) line += " " + names_.of(id);
    return line;
  }
  std::string details(const CheckpointSaved& e) {
    return job(e) + " " + std::to_string(e.sequence) + " " + e.state;
  }
  std::string details(const CheckpointDeleted& e) { return job(e); }
  std::string details(const ProgressReported& e) {
    return job(e) + " " + e.progress + " " + e.message;
  }
  std::string details(const QueueConfigured& e) {
    std::string line = e.queue + (e.settings.paused ? " paused" : "");
    if (e.settings.depth_max != 0) line += " depth=" + std::to_string(e.settings.depth_max);
    if (e.settings.rate_per_second != 0)
      line += " rate=" + std::to_string(e.settings.rate_per_second);
    return line;
  }
  std::string details(const LimitConfigured& e) {
    std::string line = e.key;
    if (e.settings.concurrency != 0)
      line += " concurrency=" + std::to_string(e.settings.concurrency);
    if (e.settings.rate != 0)
      line += " rate=" + std::to_string(e.settings.rate) + "/" +
              std::to_string(e.settings.period_ms) + "ms";
    return line;
  }
  std::string details(const DocPut& e) { return e.key + "=" + e.value; }
  std::string details(const DocDeleted& e) { return e.key; }
  std::string details(const CronPut& e) { return e.cron.name + when(e.next_ms); }
  std::string details(const CronDeleted& e) { return e.name; }
  std::string details(const CronFired& e) {
    return e.name + " " + names_.of(e.job) + " due" + when(e.due_ms) + " next" + when(e.next_ms);
  }
  std::string details(const CronSkipped& e) {
    return e.name + " '" + e.reason + "' due" + when(e.due_ms) + " next" + when(e.next_ms);
  }
  std::string place(const RunId& run, uint32_t index) {
    return names_.of(run) + "/" +
           (is_callback(index) ? std::string(role_name(callback_role(index)))
                               : std::to_string(index));
  }
  static std::string outcome_name(ChildState outcome) {
    constexpr const char* kNames[] = {"waiting", "started",   "done",
                                      "failed",  "cancelled", "skipped"};
    return kNames[static_cast<size_t>(outcome)];
  }
  std::string details(const RunCreated& e) {
    std::string line =
        names_.of(e.run) + " " + std::string(kind_name(e.kind)) + " of " + std::to_string(e.total);
    return e.parent.run.is_nil() ? line : line + " as " + place(e.parent.run, index_of(e.parent.place));
  }
  std::string details(const RunStarted& e) { return names_.of(e.run); }
  std::string details(const RunChildDone& e) {
    return place(e.run, e.index) + " " + outcome_name(e.outcome) +
           (e.reason.empty() ? "" : ": " + names_.rename(e.reason));
  }
  std::string details(const RunCallbackFired& e) {
    return names_.of(e.run) + " " + std::string(role_name(e.role)) + " " + names_.of(e.job);
  }
  std::string details(const RunFinished& e) {
    return names_.of(e.run) + " " + std::string(state_name(e.state)) +
           (e.reason.empty() ? "" : ": " + e.reason);
  }
  std::string details(const RunRetried& e) {
    std::string line = names_.of(e.run);
    for (uint32_t index : e.restart) line += " " + std::to_string(index);
    return line;
  }
  std::string details(const RunForgotten& e) { return names_.of(e.run); }

  JobNames& names_;
  int64_t now_ms_ = 0;
};

}  // namespace pawl
