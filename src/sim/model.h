// JournalModel: an independent interpretation of the durable journal.
//
// It reads every committed record and keeps its own jobs, queues, limits and crons, written from
// the specification of the job lifecycle and not from the kernel. Each event must be legal at its
// place: a listed transition (I5), by the lease that holds the job (I6), not before its time, not
// past a limit, in the order of priority and age. Replies and the engine's memory are compared with
// it (tasks.cc, audit.cc).
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/function_ref.h"
#include "journal/events.h"
#include "journal/record.h"
#include "sim/module_model.h"
#include "sim/run_model.h"
#include "sim/script_model.h"
#include "sim/verdict.h"

namespace pawl::sim {

// The state of a job after one event.
struct ModelPoint {
  uint64_t sequence = 0;
  JobState state = JobState::None;
  uint32_t attempt = 0;
  std::string worker;
};

// The order in which a queue's jobs are leased.
using ModelPlace = std::tuple<int32_t, uint64_t, JobId>;

struct ModelJob {
  JobCreated birth;
  JobSpec spec;
  RetryPolicy policy;
  JobState state = JobState::None;
  uint32_t attempt = 0;
  uint64_t born = 0;         // sequence of its creation: an id may be used again after deletion
  uint64_t born_before = 0;  // likewise, of the previous job with this id
  uint64_t order = 0;
  int64_t created_ms = 0;
  int64_t scheduled_ms = 0;
  int64_t expires_ms = 0;
  int64_t lease_until_ms = 0;
  int64_t deadline_ms = 0;
  std::string worker;
  std::string result;
  bool dead_letter = false;
  bool forgotten = false;
  bool restarted = false;  // a retry of its run revived it
  uint64_t checkpoint = 0;
  std::string progress;
  std::vector<ModelPoint> history;

  bool finished() const;
  int64_t due_ms() const;  // 0: no timer will move it
  ModelPlace place() const { return {-birth.priority, order, birth.job}; }
  const ModelPoint* point_at(uint64_t sequence) const;
  uint64_t version() const { return history.back().sequence; }
};

struct ModelWindow {  // a rate: a number per period, counted from the first of each period
  int64_t start_ms = 0;
  uint32_t used = 0;
  bool allows(uint32_t rate, int64_t period_ms, int64_t now_ms) const {
    return rate == 0 || now_ms - start_ms >= period_ms || used < rate;
  }
  void use(int64_t period_ms, int64_t now_ms) {
    if (now_ms - start_ms >= period_ms) *this = {now_ms, 0};
    ++used;
  }
};

struct ModelQueue {
  QueueSettings settings;
  std::set<ModelPlace> ready;
  ModelWindow rate;
  std::array<uint64_t, kJobStateCount> forgotten{};  // by the state they were in
};

struct ModelLimit {
  LimitSettings settings;
  uint64_t active = 0;
  ModelWindow rate;
};

struct ModelCron {
  CronSpec spec;
  int64_t next_ms = 0;
  JobId last_job;
};

class JournalModel {
 public:
  explicit JournalModel(Verdict& verdict)
      : verdict_(verdict), runs_(verdict, *this), scripts_(verdict, *this), modules_(verdict) {}
  JournalModel& operator=(JournalModel&&) = delete;

  // `after` is called after each event with its sequence, for tasks that saw the state at that
  // point.
  void read_record(uint64_t number, std::string_view bytes, FunctionRef<void(uint64_t)> after);

  // Deleted ones too; null if it never existed.
  const ModelJob* find(const JobId& id) const;
  const ModelJob* existing(const JobId& id) const;
  const std::map<JobId, ModelJob>& jobs() const { return jobs_; }
  const std::map<std::string, ModelQueue>& queues() const { return queues_; }
  const std::map<std::string, ModelLimit>& limits() const { return limits_; }
  const std::map<std::string, ModelCron>& crons() const { return crons_; }
  const RunModel& runs() const { return runs_; }
  ScriptModel& scripts() { return scripts_; }
  const ScriptModel& scripts() const { return scripts_; }
  ModuleModel& modules() { return modules_; }
  const ModuleModel& modules() const { return modules_; }
  void restarted() {  // the engine was
    runs_.restarted();
    scripts_.restarted();
  }
  bool limit_allows(const ModelJob& job, int64_t now_ms) const;
  // The first job that a fetch from this queue should get now; null if none.
  const ModelJob* fetchable(const std::string& queue, int64_t now_ms) const;
  uint64_t waiting(const std::string& queue) const;  // jobs not finished and not active
  int64_t first_due_ms() const;                      // of jobs and runs; 0: none
  size_t unfinished() const;                         // jobs and runs
  int64_t now_ms() const { return now_ms_; }
  uint64_t head() const { return head_; }
  uint64_t events() const { return events_; }

 private:
  using At = EventAt;
  void broken(std::string_view checker, const At& at, const JobId& job, std::string_view what);
  void read_event(const journal::EventBytes& event);
  uint32_t attempt_of(const JobId& id) const;
  ModelJob* step(const JobEventHead& step, const At& at, uint32_t attempt_now);
  void move(ModelJob& job, JobState to, const At& at);
  void note(ModelJob& job, const At& at);
  void check_lease_holds(const ModelJob& job, const At& at);
  void check_unique(const std::string& key, const At& at);
  void frame_over(const At& at);

  void happened(const JobCreated& event, const At& at);
  void happened(const JobPromoted& event, const At& at);
  void happened(const JobLeased& event, const At& at);
  void happened(const LeaseExtended& event, const At& at);
  void happened(const JobCompleted& event, const At& at);
  void happened(const JobFailed& event, const At& at);
  void happened(const JobRequeued& event, const At& at);
  void changed(ModelJob& job, const JobRequeued& event, const At& at);
  void happened(const JobCancelled& event, const At& at);
  void happened(const JobExpired& event, const At& at);
  void happened(const JobRevived& event, const At& at);
  void happened(const JobsForgotten& event, const At& at);
  void happened(const CheckpointSaved& event, const At& at);
  void happened(const CheckpointDeleted& event, const At& at);
  void happened(const ProgressReported& event, const At& at);
  void happened(const QueueConfigured& event, const At& at);
  void happened(const LimitConfigured& event, const At& at);
  void happened(const DocPut& event, const At& at);
  void happened(const DocDeleted& event, const At& at);
  void happened(const CronPut& event, const At& at);
  void happened(const CronDeleted& event, const At& at);
  void happened(const CronFired& event, const At& at);
  void happened(const CronSkipped& event, const At& at);

  void happened(const InstanceMoved& event, const At&) { modules_.happened(event); }
  void happened(const RunForgotten& event, const At& at) {
    if (!scripts_.is_forgotten(event, at)) runs_.happened(event, at);
  }
  void happened(const auto& event, const At& at) {
    if constexpr (requires { scripts_.happened(event, at); }) {
      scripts_.happened(event, at);
      if constexpr (std::is_same_v<decltype(event), const ScriptCreated&>)
        modules_.work_made(event.inputs);
    } else {
      runs_.happened(event, at);
    }
  }

  Verdict& verdict_;
  RunModel runs_;
  ScriptModel scripts_;
  ModuleModel modules_;
  std::map<JobId, ModelJob> jobs_;
  std::map<std::string, ModelQueue> queues_;
  std::map<std::string, ModelLimit> limits_;
  std::map<std::string, ModelCron> crons_;
  std::set<std::string> new_keys_;      // of the current frame
  std::set<std::string> revived_keys_;  // a revived job may share its key with a newer one
  std::set<std::string> deleted_crons_;
  std::map<std::string, int64_t> documents_;  // key → expires_ms
  int64_t now_ms_ = 0;
  uint64_t head_ = 0;
  uint64_t events_ = 0;
};

// Keys with this prefix are pushed with the standard states only: at most one unfinished job has
// each.
constexpr char kStrictUniqueMark = 'S';

// The document whose deletion replaces an event that a planted bug dropped.
constexpr std::string_view kSwallowed = "never there";

}  // namespace pawl::sim
