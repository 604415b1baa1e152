// Nested runs that have not started: a later group of a chain can be read by its id from the moment
// the chain is created.
//
// A nested run's id is derived from its place, or chosen by a client. Below a run with a chosen id,
// ids can be derived only once it starts (see child_id); until then there are none.
#pragma once

#include <optional>
#include <string>

#include "base/function_ref.h"
#include "base/uuid.h"
#include "journal/events.h"
#include "plan/ojs/plan_node.h"

namespace pawl {

class State;
struct Run;

// The key of its DocKind::PlannedRun.
std::string planned_run_key(const RunId& id);

// The nested runs below `plan`, the plan of `run`, that have not started; outermost first.
void each_nested(const Run& run, const PlanNode& plan,
                 FunctionRef<void(const RunId&, const JobParent& place)> visit);
// The same for runs that never started below this one, which has ended.
void each_never_started(const State& state, const Run& run, FunctionRef<void(const RunId&)> visit);

struct PlannedRun {
  RunId id;
  JobParent place;
  PlanNode plan;
  const Run* around = nullptr;  // the innermost enclosing run that has started
  uint32_t index = 0;           // its index there, or that of the plan around it
};
// Empty if there is none with this id, or it has started.
std::optional<PlannedRun> find_planned(const State& state, const RunId& id);

}  // namespace pawl
