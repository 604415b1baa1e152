// Plan: what a run is to do, as a tree of nodes. Every front end (Open Job Spec workflows,
// definitions) compiles to it; the kernel runs nothing else.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "journal/events.h"
#include "plan/ojs/job_spec.h"

namespace pawl {

enum class NodeKind : uint8_t { Job = 0, Run = 1 };

struct PlanNode {
  NodeKind kind = NodeKind::Job;
  std::string name;  // a step's own name, for depends_on and for display
  std::string when;  // CEL over the results so far; false skips the node. Empty = always
  std::vector<uint32_t> depends_on;  // of a dag: indexes of siblings
  std::string step_id;               // what the client calls the step, if it says so

  // NodeKind::Job
  std::string job;  // NewJob, encoded

  // NodeKind::Run
  RunKind run_kind = RunKind::None;
  RunId id;                           // nil: made by the kernel
  std::string client_id;              // the text behind it, if it is no UUID
  std::vector<std::string> children;  // PlanNode each, encoded
  std::vector<std::string>
      callbacks;  // NewJob each, encoded, by CallbackRole; "" = none. Empty list = none at all
  int64_t timeout_ms = 0;
  RunTimeout on_timeout = RunTimeout::Fail;
  std::string over;          // of a map: CEL that gives the list, or JSON array text
  uint32_t concurrency = 0;  // of a map
  std::string meta;
  uint32_t job_count = 0;    // jobs below, callbacks not counted; a map counts when it has unfolded
  bool named_steps = false;  // children have ids of the client's
  std::vector<std::string> callback_ids;  // their step ids, by CallbackRole; empty = none

  static void fields(auto& self, auto&& visit) {
    visit(1, "kind", self.kind);
    visit(2, "name", self.name);
    visit(3, "when", self.when);
    visit(4, "depends_on", self.depends_on);
    visit(5, "job", self.job);
    visit(6, "run_kind", self.run_kind);
    visit(7, "id", self.id);
    visit(8, "children", self.children);
    visit(9, "callbacks", self.callbacks);
    visit(10, "timeout_ms", self.timeout_ms);
    visit(11, "on_timeout", self.on_timeout);
    visit(12, "over", self.over);
    visit(13, "concurrency", self.concurrency);
    visit(14, "meta", self.meta);
    visit(15, "job_count", self.job_count);
    visit(16, "client_id", self.client_id);
    visit(17, "step_id", self.step_id);
    visit(18, "named_steps", self.named_steps);
    visit(19, "callback_ids", self.callback_ids);
  }
};

constexpr size_t kPlanDepthMax = 32;
constexpr uint32_t kRunChildrenMax = 200'000;

}  // namespace pawl
