// Nested runs that have not started: a group that a chain will come to is known, and can be asked
// for by its id, from the moment the chain is created.
//
// A nested run's id follows from its place, or a client chose it. Below one whose id a client chose
// the ids of others follow only once it starts (see child_id); until then those have none.
#pragma once

#include <optional>
#include <string>

#include "base/function_ref.h"
#include "kernel/state.h"

namespace pawl {

// The key of its DocKind::PlannedRun.
std::string planned_run_key(const RunId& id);

// What nested runs below `plan`, the plan of `run`, wait for their time; outermost first.
void each_nested(const Run& run, const PlanNode& plan,
                 FunctionRef<void(const RunId&, const JobParent& place)> visit);
// The same for runs that never started below this one, which has ended.
void each_never_started(const State& state, const Run& run, FunctionRef<void(const RunId&)> visit);

struct PlannedRun {
  RunId id;
  JobParent place;
  PlanNode plan;
  const Run* around = nullptr;  // the innermost run around it that has started
  uint32_t index = 0;           // where in that one it stands, itself or what is around it
};
// Empty if there is none with this id, or it has started.
std::optional<PlannedRun> find_planned(const State& state, const RunId& id);

}  // namespace pawl
