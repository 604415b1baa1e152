// Events as one readable line, for tests: "JobLeased(j1 w1 #1) | JobFailed(j1 #1 retryable +1000
// E)".
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
  void give(const JobId& id, const std::string& name);
  // An unknown name gives an unused id.
  JobId id(const std::string& name) const { return JobId(uuid(name)); }
  RunId run_id(const std::string& name) const { return RunId(uuid(name)); }
  // Ids in a message → names.
  std::string rename(std::string text) const;

 private:
  const std::string& of(const Uuid& id, const char* prefix, size_t& count);
  Uuid uuid(const std::string& name) const;

  std::map<Uuid, std::string> names_;
  std::map<std::string, Uuid> ids_;
  size_t jobs_ = 0;
  size_t runs_ = 0;
};

class EventStory {
 public:
  explicit EventStory(JobNames& names) : names_(names) {}

  // The events of one record, in order; "nothing" if there are none.
  std::string tell(uint64_t number, std::string_view record);

  std::string tell(const journal::EventBytes& event);

 private:
  std::string relative(int64_t at_ms) const;
  std::string when(int64_t at_ms) const { return at_ms == 0 ? "" : " " + relative(at_ms); }
  std::string attempt(const JobEventHead& step) const {
    return " #" + std::to_string(step.attempt);
  }
  const std::string& job(const JobEventHead& step) { return names_.of(step.job); }

  // Other events are printed by name only.
  std::string details(const auto&) { return ""; }
  std::string details(const JobCreated& e);
  std::string details(const JobPromoted& e) { return job(e); }
  std::string details(const JobLeased& e) { return job(e) + " " + e.worker + attempt(e); }
  std::string details(const LeaseExtended& e) { return job(e) + when(e.lease_until_ms); }
  std::string details(const JobCompleted& e) { return job(e) + " " + e.result; }
  std::string details(const JobFailed& e);
  std::string details(const JobRequeued& e);
  std::string details(const JobCancelled& e) { return job(e) + " " + e.reason; }
  std::string details(const JobExpired& e) { return job(e); }
  std::string details(const JobRevived& e) { return job(e); }
  std::string details(const JobsForgotten& e);
  std::string details(const CheckpointSaved& e);
  std::string details(const CheckpointDeleted& e) { return job(e); }
  std::string details(const ProgressReported& e);
  std::string details(const QueueConfigured& e);
  std::string details(const LimitConfigured& e);
  std::string details(const DocPut& e) { return e.key + "=" + e.value; }
  std::string details(const DocDeleted& e) { return e.key; }
  std::string details(const CronPut& e) { return e.cron.name + when(e.next_ms); }
  std::string details(const CronDeleted& e) { return e.name; }
  std::string details(const CronFired& e);
  std::string details(const CronSkipped& e);
  std::string place(const RunId& run, uint32_t index);
  static std::string outcome_name(ChildState outcome);
  std::string details(const RunCreated& e);
  std::string details(const RunStarted& e) { return names_.of(e.run); }
  std::string details(const RunChildDone& e);
  std::string details(const RunCallbackFired& e);
  std::string details(const RunFinished& e);
  std::string details(const RunRetried& e);
  std::string details(const RunForgotten& e) { return names_.of(e.run); }
  std::string details(const InstanceMoved& e) { return e.module + " " + e.key_json; }

  JobNames& names_;
  int64_t now_ms_ = 0;
};

}  // namespace pawl
