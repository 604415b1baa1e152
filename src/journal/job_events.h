// Events of jobs.
//
// Every job event names the job's queue, its type and the state it came from, so that the fold of
// the queue's counts never has to read the job, whose row may be newer. Times are the frame's.
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

// Fields of every job event: the job, its queue and limit, and its previous state.
struct JobEventHead {
  JobId job;
  std::string queue;  // scoped name: tenant, unit separator, queue; or the queue alone
  std::string type;
  JobState from = JobState::None;
  uint32_t attempt = 0;
  std::string limit;  // concurrency key, if the job has one
  // It is another partition's job: this journal follows it for a run or cron that is here
  // (kernel/messages/placing.h).
  bool elsewhere = false;

  static void fields(auto& self, auto&& visit) {
    visit(1, "job", self.job);
    visit(2, "queue", self.queue);
    visit(3, "type", self.type);
    visit(4, "from", self.from);
    visit(5, "attempt", self.attempt);
    visit(6, "limit", self.limit);
    visit(7, "elsewhere", self.elsewhere);
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

  static void fields(auto& self, auto&& visit) {
    visit(1, "code", self.code);
    visit(2, "type", self.type);
    visit(3, "message", self.message);
    visit(4, "details", self.details);
    visit(5, "attempt", self.attempt);
    visit(6, "at_ms", self.at_ms);
    visit(7, "final", self.final);
  }
};

// The position of a job in a run; run is nil for a single job.
// Which place of its run a job or nested run fills. In a composition: the child of an index, or a
// callback, which has an index behind those of all children (kernel/run.h: callback_index()). In a
// run of a definition: the step that asked for the effect of this number.
enum class Place : uint32_t {};
constexpr Place place_of_index(uint32_t index) { return Place{index}; }
constexpr Place place_of_effect(uint32_t effect) { return Place{effect}; }
constexpr uint32_t index_of(Place place) { return static_cast<uint32_t>(place); }
constexpr uint32_t effect_of(Place place) { return static_cast<uint32_t>(place); }

struct JobParent {
  RunId run;
  Place place{};

  static void fields(auto& self, auto&& visit) {
    visit(1, "run", self.run);
    visit(2, "node", self.place);
  }
};

struct JobCreated : JobEventHead {
  JobState state = JobState::None;
  int32_t priority = 0;
  uint32_t max_attempts = 0;
  int64_t scheduled_ms = 0;
  int64_t expires_ms = 0;
  std::string unique_key;  // 16 bytes
  std::string spec;        // JobSpec, encoded
  JobParent parent;
  uint32_t placed_by = 0;  // the partition that waits for its end, plus one; 0 = this one
  uint32_t home = 0;       // of one that is elsewhere: where, plus one

  static void fields(auto& self, auto&& visit) {
    JobEventHead::fields(self, visit);
    visit(10, "state", self.state);
    visit(11, "priority", self.priority);
    visit(12, "max_attempts", self.max_attempts);
    visit(13, "scheduled_ms", self.scheduled_ms);
    visit(14, "expires_ms", self.expires_ms);
    visit(15, "unique_key", self.unique_key);
    visit(16, "spec", self.spec);
    visit(17, "parent", self.parent);
    visit(18, "placed_by", self.placed_by);
    visit(19, "home", self.home);
  }
};

// scheduled, retryable or pending → available
struct JobPromoted : JobEventHead {};

struct JobLeased : JobEventHead {
  std::string worker;
  int64_t lease_until_ms = 0;
  int64_t deadline_ms = 0;  // execution timeout, 0 = none

  static void fields(auto& self, auto&& visit) {
    JobEventHead::fields(self, visit);
    visit(10, "worker", self.worker);
    visit(11, "lease_until_ms", self.lease_until_ms);
    visit(12, "deadline_ms", self.deadline_ms);
  }
};

struct LeaseExtended : JobEventHead {
  int64_t lease_until_ms = 0;

  static void fields(auto& self, auto&& visit) {
    JobEventHead::fields(self, visit);
    visit(10, "lease_until_ms", self.lease_until_ms);
  }
};

struct JobCompleted : JobEventHead {
  std::string result;  // JSON text or empty
  int64_t started_ms = 0;

  static void fields(auto& self, auto&& visit) {
    JobEventHead::fields(self, visit);
    visit(10, "result", self.result);
    visit(11, "started_ms", self.started_ms);
  }
};

// active → retryable (retry_at_ms set) or discarded
struct JobFailed : JobEventHead {
  JobState to = JobState::None;
  JobError error;
  int64_t retry_at_ms = 0;
  int64_t retry_delay_ms = 0;
  bool dead_letter = false;

  static void fields(auto& self, auto&& visit) {
    JobEventHead::fields(self, visit);
    visit(10, "to", self.to);
    visit(11, "error", self.error);
    visit(12, "retry_at_ms", self.retry_at_ms);
    visit(13, "retry_delay_ms", self.retry_delay_ms);
    visit(14, "dead_letter", self.dead_letter);
  }
};

enum class RequeueReason : uint8_t { LeaseExpired = 0, Returned = 1, Changed = 2 };

// active → available, with its old place in the queue. Or, if Changed: a client moved a waiting
// job.
struct JobRequeued : JobEventHead {
  RequeueReason reason = RequeueReason::LeaseExpired;
  // Only if Changed: the complete new settings.
  JobState to = JobState::None;
  int32_t priority = 0;
  int64_t scheduled_ms = 0;
  std::string spec = {};  // JobSpec, encoded; empty = as it was

  static void fields(auto& self, auto&& visit) {
    JobEventHead::fields(self, visit);
    visit(10, "reason", self.reason);
    visit(11, "to", self.to);
    visit(12, "priority", self.priority);
    visit(13, "scheduled_ms", self.scheduled_ms);
    visit(14, "spec", self.spec);
  }
};

struct JobCancelled : JobEventHead {
  std::string reason;
  bool was_held = false;  // a worker held it, so its ack may still arrive

  static void fields(auto& self, auto&& visit) {
    JobEventHead::fields(self, visit);
    visit(10, "reason", self.reason);
    visit(11, "was_held", self.was_held);
  }
};

// Not delivered before expires_at: → discarded, without completed_at
struct JobExpired : JobEventHead {};

// discarded or cancelled → available, by hand or because its run is retried; attempts start again
struct JobRevived : JobEventHead {
  bool was_dead_letter = false;

  static void fields(auto& self, auto&& visit) {
    JobEventHead::fields(self, visit);
    visit(10, "was_dead_letter", self.was_dead_letter);
  }
};

// Finished jobs of one queue deleted by retention or by hand.
struct JobsForgotten {
  std::vector<JobId> jobs;
  std::string queue;
  uint64_t dead = 0;       // how many of them leave the dead letter list
  bool elsewhere = false;  // as in JobEventHead, all of them

  static void fields(auto& self, auto&& visit) {
    visit(1, "jobs", self.jobs);
    visit(2, "queue", self.queue);
    visit(3, "dead", self.dead);
    visit(4, "elsewhere", self.elsewhere);
  }
};

struct CheckpointSaved : JobEventHead {
  std::string state;  // JSON text
  uint64_t sequence = 0;

  static void fields(auto& self, auto&& visit) {
    JobEventHead::fields(self, visit);
    visit(10, "state", self.state);
    visit(11, "sequence", self.sequence);
  }
};

struct CheckpointDeleted : JobEventHead {};

struct ProgressReported : JobEventHead {
  std::string progress;  // JSON number text, 0..1
  std::string message;
  std::string data;  // JSON text or empty

  static void fields(auto& self, auto&& visit) {
    JobEventHead::fields(self, visit);
    visit(10, "progress", self.progress);
    visit(11, "message", self.message);
    visit(12, "data", self.data);
  }
};

}  // namespace pawl
