// Events of runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/codec.h"
#include "base/uuid.h"
#include "journal/job_events.h"

namespace pawl {

// --- runs: compositions of jobs. A run is one chain, group, batch, dag or map; a nested one is a
// separate run whose parent is its place in the outer run.

enum class RunKind : uint8_t {
  None = 0,
  Chain = 1,
  Group = 2,
  Batch = 3,
  Dag = 4,
  Map = 5,
  Script = 6,
  Module = 7  // an instance of a module in a world
};
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

// The plan of a child that does not start together with its run.
struct HeldChild {
  uint32_t index = 0;
  std::string plan;  // PlanNode, encoded: see plan/ojs/plan_node.h

  static void fields(auto& self, auto&& visit) {
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
  uint64_t salt = 0;             // part of its children's ids, since a run's id may be used again
  bool named_steps = false;      // clients gave the children ids, which are shown
  std::string parent_client_id;  // the client_id of the parent run
  // The partition where it is, plus one, if its id names another one: its children are here too.
  uint32_t children_at = 0;

  static void fields(auto& self, auto&& visit) {
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
    visit(14, "salt", self.salt);
    visit(15, "named_steps", self.named_steps);
    visit(16, "parent_client_id", self.parent_client_id);
    visit(17, "children_at", self.children_at);
  }
};

// Data about the run in every run event, so that events can be shown without reading the run. The
// counts are of direct children, after the event.
struct RunEventHead {
  RunId run;
  RunKind kind = RunKind::None;
  std::string name;
  std::string tenant;
  std::string client_id;
  uint32_t total = 0;  // 0 in older journals
  uint32_t completed = 0;
  uint32_t failed = 0;
  uint32_t cancelled = 0;

  static void fields(auto& self, auto&& visit) {
    visit(1, "run", self.run);
    visit(2, "kind", self.kind);
    visit(3, "name", self.name);
    visit(4, "tenant", self.tenant);
    visit(5, "client_id", self.client_id);
    visit(6, "total", self.total);
    visit(7, "completed", self.completed);
    visit(8, "failed", self.failed);
    visit(9, "cancelled", self.cancelled);
  }
};

// Its first job was leased.
struct RunStarted : RunEventHead {};

// A child has ended; or, with the outcome Started, a delayed retry starts it again.
struct RunChildDone : RunEventHead {
  uint32_t index = 0;
  ChildState outcome = ChildState::Waiting;
  Uuid child;        // job or nested run; nil if it never started
  std::string type;  // of the job, or the nested run's kind
  int64_t duration_ms = 0;
  std::string reason;           // why it was skipped, or failed without a job of its own
  std::string child_client_id;  // of a nested run: its client_id

  static void fields(auto& self, auto&& visit) {
    RunEventHead::fields(self, visit);
    visit(10, "index", self.index);
    visit(11, "outcome", self.outcome);
    visit(12, "child", self.child);
    visit(13, "type", self.type);
    visit(14, "duration_ms", self.duration_ms);
    visit(15, "reason", self.reason);
    visit(16, "child_client_id", self.child_client_id);
  }
};

enum class CallbackRole : uint8_t { OnComplete = 0, OnSuccess = 1, OnFailure = 2, OnCancel = 3 };
constexpr size_t kCallbackRoles = 4;

struct RunCallbackFired : RunEventHead {
  CallbackRole role = CallbackRole::OnComplete;
  JobId job;

  static void fields(auto& self, auto&& visit) {
    RunEventHead::fields(self, visit);
    visit(10, "role", self.role);
    visit(11, "job", self.job);
  }
};

struct RunFinished : RunEventHead {
  RunState state = RunState::None;
  std::string reason;
  uint32_t failed_callbacks = 0;  // bit per CallbackRole

  static void fields(auto& self, auto&& visit) {
    RunEventHead::fields(self, visit);
    visit(10, "state", self.state);
    visit(11, "reason", self.reason);
    visit(12, "failed_callbacks", self.failed_callbacks);
  }
};

// failed → running: the failed children run again.
struct RunRetried : RunEventHead {
  std::vector<uint32_t>
      restart;  // children that start again at once; other failed ones wait for their turn

  static void fields(auto& self, auto&& visit) {
    RunEventHead::fields(self, visit);
    visit(10, "restart", self.restart);
  }
};

// The run exceeds the evaluation budget of one frame and continues in a later one; or it continues
// now.
struct RunYielded {
  RunId run;

  static void fields(auto& self, auto&& visit) { visit(1, "run", self.run); }
};

struct RunForgotten {
  RunId run;

  static void fields(auto& self, auto&& visit) { visit(1, "run", self.run); }
};

}  // namespace pawl
