// Events: past facts, each about one entity. What is journaled, folded on recovery, and shown to
// users.
//
// An event carries all that its fold needs, also when the other entity it counts in (its queue) has
// a newer row: hence the queue's name, the type and the state it came from stand in every job
// event. Times are the frame's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/codec.h"
#include "base/uuid.h"

namespace pawl {

enum class JobState : uint8_t {
  None = 0,
  Scheduled = 1,
  Available = 2,
  Pending = 3,
  Active = 4,
  Completed = 5,
  Retryable = 6,
  Cancelled = 7,
  Discarded = 8,
};
constexpr size_t kJobStateCount = 9;

enum class EventType : uint16_t {
#define PAWL_EVENT(number, name) name = number,
#include "journal/event_types.def"
#undef PAWL_EVENT
};

// What every job event says: which job, where it counts, and what it was before.
struct JobStep {
  JobId job;
  std::string queue;  // scoped name: tenant, unit separator, queue; or the queue alone
  std::string type;
  JobState from = JobState::None;
  uint32_t attempt = 0;
  std::string limit;  // concurrency key, if the job has one

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "job", self.job);
    visit(2, "queue", self.queue);
    visit(3, "type", self.type);
    visit(4, "from", self.from);
    visit(5, "attempt", self.attempt);
    visit(6, "limit", self.limit);
  }
};

struct JobError {
  std::string code;
  std::string type;
  std::string message;
  std::string details;  // JSON text or empty
  uint32_t attempt = 0;
  int64_t at_ms = 0;
  bool final = false;  // the sender said that retrying is pointless

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "code", self.code);
    visit(2, "type", self.type);
    visit(3, "message", self.message);
    visit(4, "details", self.details);
    visit(5, "attempt", self.attempt);
    visit(6, "at_ms", self.at_ms);
    visit(7, "final", self.final);
  }
};

// Where a job stands in a run; run is nil for a job on its own.
struct JobParent {
  RunId run;
  uint32_t node = 0;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "run", self.run);
    visit(2, "node", self.node);
  }
};

struct JobCreated : JobStep {
  JobState state = JobState::None;
  int32_t priority = 0;
  uint32_t max_attempts = 0;
  int64_t scheduled_ms = 0;
  int64_t expires_ms = 0;
  std::string unique_key;  // 16 bytes
  std::string spec;        // JobSpec, encoded
  JobParent parent;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    JobStep::fields(self, visit);
    visit(10, "state", self.state);
    visit(11, "priority", self.priority);
    visit(12, "max_attempts", self.max_attempts);
    visit(13, "scheduled_ms", self.scheduled_ms);
    visit(14, "expires_ms", self.expires_ms);
    visit(15, "unique_key", self.unique_key);
    visit(16, "spec", self.spec);
    visit(17, "parent", self.parent);
  }
};

// scheduled, retryable or pending → available
struct JobPromoted : JobStep {};

struct JobLeased : JobStep {
  std::string worker;
  int64_t lease_until_ms = 0;
  int64_t deadline_ms = 0;  // execution timeout, 0 = none

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    JobStep::fields(self, visit);
    visit(10, "worker", self.worker);
    visit(11, "lease_until_ms", self.lease_until_ms);
    visit(12, "deadline_ms", self.deadline_ms);
  }
};

struct LeaseExtended : JobStep {
  int64_t lease_until_ms = 0;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    JobStep::fields(self, visit);
    visit(10, "lease_until_ms", self.lease_until_ms);
  }
};

struct JobCompleted : JobStep {
  std::string result;  // JSON text or empty
  int64_t started_ms = 0;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    JobStep::fields(self, visit);
    visit(10, "result", self.result);
    visit(11, "started_ms", self.started_ms);
  }
};

// active → retryable (retry_at_ms set) or discarded
struct JobFailed : JobStep {
  JobState to = JobState::None;
  JobError error;
  int64_t retry_at_ms = 0;
  int64_t retry_delay_ms = 0;
  bool dead_letter = false;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    JobStep::fields(self, visit);
    visit(10, "to", self.to);
    visit(11, "error", self.error);
    visit(12, "retry_at_ms", self.retry_at_ms);
    visit(13, "retry_delay_ms", self.retry_delay_ms);
    visit(14, "dead_letter", self.dead_letter);
  }
};

enum class RequeueReason : uint8_t { LeaseExpired = 0, Returned = 1 };

// active → available, with its old place in the queue
struct JobRequeued : JobStep {
  RequeueReason reason = RequeueReason::LeaseExpired;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    JobStep::fields(self, visit);
    visit(10, "reason", self.reason);
  }
};

struct JobCancelled : JobStep {
  std::string reason;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    JobStep::fields(self, visit);
    visit(10, "reason", self.reason);
  }
};

// Not delivered before expires_at: → discarded, without completed_at
struct JobExpired : JobStep {};

// discarded → available by hand; attempts start again
struct JobRevived : JobStep {
  bool was_dead_letter = false;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    JobStep::fields(self, visit);
    visit(10, "was_dead_letter", self.was_dead_letter);
  }
};

// Retention, or a deletion by hand: finished jobs of one queue that are no longer kept.
struct JobsForgotten {
  std::vector<JobId> jobs;
  std::string queue;
  uint64_t dead = 0;  // how many of them leave the dead letter list

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "jobs", self.jobs);
    visit(2, "queue", self.queue);
    visit(3, "dead", self.dead);
  }
};

struct CheckpointSaved : JobStep {
  std::string state;  // JSON text
  uint64_t sequence = 0;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    JobStep::fields(self, visit);
    visit(10, "state", self.state);
    visit(11, "sequence", self.sequence);
  }
};

struct CheckpointDeleted : JobStep {};

struct ProgressReported : JobStep {
  std::string progress;  // JSON number text, 0..1
  std::string message;
  std::string data;  // JSON text or empty

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    JobStep::fields(self, visit);
    visit(10, "progress", self.progress);
    visit(11, "message", self.message);
    visit(12, "data", self.data);
  }
};

struct QueueSettings {
  bool paused = false;
  uint64_t depth_max = 0;        // 0 = no bound of its own
  uint32_t warn_permille = 0;    // share of depth_max from which replies carry a warning
  uint32_t rate_per_second = 0;  // 0 = no limit

  bool operator==(const QueueSettings&) const = default;
  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "paused", self.paused);
    visit(2, "depth_max", self.depth_max);
    visit(3, "warn_permille", self.warn_permille);
    visit(4, "rate_per_second", self.rate_per_second);
  }
};

struct QueueConfigured {
  std::string queue;
  QueueSettings settings;
  bool paused_before = false;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "queue", self.queue);
    visit(2, "settings", self.settings);
    visit(3, "paused_before", self.paused_before);
  }
};

// A concurrency key shared by jobs of any queue.
struct LimitSettings {
  uint32_t concurrency = 0;  // 0 = no bound
  uint32_t rate = 0;         // leases per period, 0 = no bound
  int64_t period_ms = 0;

  bool operator==(const LimitSettings&) const = default;
  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "concurrency", self.concurrency);
    visit(2, "rate", self.rate);
    visit(3, "period_ms", self.period_ms);
  }
};

struct LimitConfigured {
  std::string key;
  LimitSettings settings;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "key", self.key);
    visit(2, "settings", self.settings);
  }
};

// Small things that are only put, read and deleted whole: the API decides what stands in them.
enum class DocKind : uint8_t {
  None = 0,
  ApiKey = 1,
  Schema = 2,
  Webhook = 3,
  Idempotency = 4,
  Pool = 5
};

struct DocPut {
  DocKind kind = DocKind::None;
  std::string key;
  std::string value;
  int64_t expires_ms = 0;  // 0 = kept until deleted

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "kind", self.kind);
    visit(2, "key", self.key);
    visit(3, "value", self.value);
    visit(4, "expires_ms", self.expires_ms);
  }
};

struct DocDeleted {
  DocKind kind = DocKind::None;
  std::string key;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "kind", self.kind);
    visit(2, "key", self.key);
  }
};

enum class CronOverlap : uint8_t { Skip = 0, Allow = 1, CancelPrevious = 2, Enqueue = 3 };

struct CronSpec {
  std::string name;
  std::string expression;
  std::string timezone;
  CronOverlap overlap = CronOverlap::Skip;
  bool paused = false;
  std::string job;          // JobTemplate, encoded: see kernel/job.h
  std::string description;  // JSON text of what the caller sent beside, or empty
  int64_t created_ms = 0;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "name", self.name);
    visit(2, "expression", self.expression);
    visit(3, "timezone", self.timezone);
    visit(4, "overlap", self.overlap);
    visit(5, "paused", self.paused);
    visit(6, "job", self.job);
    visit(7, "description", self.description);
    visit(8, "created_ms", self.created_ms);
  }
};

struct CronPut {
  CronSpec cron;
  int64_t next_ms = 0;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "cron", self.cron);
    visit(2, "next_ms", self.next_ms);
  }
};

struct CronDeleted {
  std::string name;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "name", self.name);
  }
};

struct CronFired {
  std::string name;
  JobId job;
  int64_t due_ms = 0;
  int64_t next_ms = 0;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "name", self.name);
    visit(2, "job", self.job);
    visit(3, "due_ms", self.due_ms);
    visit(4, "next_ms", self.next_ms);
  }
};

struct CronSkipped {
  std::string name;
  std::string reason;
  int64_t due_ms = 0;
  int64_t next_ms = 0;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "name", self.name);
    visit(2, "reason", self.reason);
    visit(3, "due_ms", self.due_ms);
    visit(4, "next_ms", self.next_ms);
  }
};

// --- runs: compositions of jobs. A run is one chain, group, batch, dag or map; a nested one is a
// run of its own whose parent is the place that it fills.

enum class RunKind : uint8_t { None = 0, Chain = 1, Group = 2, Batch = 3, Dag = 4, Map = 5 };
enum class RunState : uint8_t { None = 0, Running = 1, Completed = 2, Failed = 3, Cancelled = 4 };
enum class ChildState : uint8_t {
  Waiting = 0,
  Started = 1,
  Completed = 2,
  Failed = 3,
  Cancelled = 4,
  Skipped = 5
};
enum class RunTimeout : uint8_t { Fail = 0, Cancel = 1 };

// A child that does not start with its run: what it will be, for when its time comes.
struct HeldChild {
  uint32_t index = 0;
  std::string plan;  // PlanNode, encoded: see kernel/plan.h

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "index", self.index);
    visit(2, "plan", self.plan);
  }
};

struct RunCreated {
  RunId run;
  RunKind kind = RunKind::None;
  std::string name;
  JobParent parent;
  uint32_t total = 0;      // direct children, callbacks not counted
  uint32_t job_count = 0;  // jobs of the whole tree below, callbacks not counted
  std::vector<HeldChild> held;
  int64_t timeout_ms = 0;
  RunTimeout on_timeout = RunTimeout::Fail;
  uint32_t concurrency = 0;  // of a map: children at work at once, 0 = all
  std::string tenant;
  std::string meta;  // JSON object text or empty
  std::string client_id;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "run", self.run);
    visit(2, "kind", self.kind);
    visit(3, "name", self.name);
    visit(4, "parent", self.parent);
    visit(5, "total", self.total);
    visit(6, "job_count", self.job_count);
    visit(7, "held", self.held);
    visit(8, "timeout_ms", self.timeout_ms);
    visit(9, "on_timeout", self.on_timeout);
    visit(10, "concurrency", self.concurrency);
    visit(11, "tenant", self.tenant);
    visit(12, "meta", self.meta);
    visit(13, "client_id", self.client_id);
  }
};

// What run events say of the run besides its id, so that they can be shown without looking it up.
struct RunStep {
  RunId run;
  RunKind kind = RunKind::None;
  std::string name;
  std::string tenant;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "run", self.run);
    visit(2, "kind", self.kind);
    visit(3, "name", self.name);
    visit(4, "tenant", self.tenant);
  }
};

// Its first job begins to work.
struct RunStarted : RunStep {};

struct RunChildDone : RunStep {
  uint32_t index = 0;
  ChildState outcome = ChildState::Waiting;
  Uuid child;        // job or nested run; nil if it never started
  std::string type;  // of the job, or the nested run's kind
  int64_t duration_ms = 0;
  std::string reason;  // why it was skipped, or failed without a job of its own

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    RunStep::fields(self, visit);
    visit(10, "index", self.index);
    visit(11, "outcome", self.outcome);
    visit(12, "child", self.child);
    visit(13, "type", self.type);
    visit(14, "duration_ms", self.duration_ms);
    visit(15, "reason", self.reason);
  }
};

enum class CallbackRole : uint8_t { OnComplete = 0, OnSuccess = 1, OnFailure = 2, OnCancel = 3 };
constexpr size_t kCallbackRoles = 4;

struct RunCallbackFired : RunStep {
  CallbackRole role = CallbackRole::OnComplete;
  JobId job;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    RunStep::fields(self, visit);
    visit(10, "role", self.role);
    visit(11, "job", self.job);
  }
};

struct RunFinished : RunStep {
  RunState state = RunState::None;
  std::string reason;
  uint32_t failed_callbacks = 0;  // bit per CallbackRole

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    RunStep::fields(self, visit);
    visit(10, "state", self.state);
    visit(11, "reason", self.reason);
    visit(12, "failed_callbacks", self.failed_callbacks);
  }
};

// failed → running: what failed is to be done again.
struct RunRetried : RunStep {
  std::vector<uint32_t>
      restart;  // children that start again at once; other failed ones wait for their turn

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    RunStep::fields(self, visit);
    visit(10, "restart", self.restart);
  }
};

struct RunForgotten {
  RunId run;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "run", self.run);
  }
};

template <class Event>
constexpr EventType event_type();
#define PAWL_EVENT(number, name)           \
  template <>                              \
  constexpr EventType event_type<name>() { \
    return EventType::name;                \
  }
#include "journal/event_types.def"
#undef PAWL_EVENT

std::string_view event_name(EventType type);

}  // namespace pawl
