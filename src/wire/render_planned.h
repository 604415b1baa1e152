// Nested workflows before they start, as Open Job Spec clients see them: all that is in them waits.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json_writer.h"
#include "kernel/compositions/planned_runs.h"

namespace pawl {

struct PlannedPlace {
  std::string id;         // empty: not known yet
  std::string parent_id;  // likewise
  int64_t created_ms = 0;
  std::string_view state;  // of the workflow
  RunId run;
  std::optional<uint64_t> salt;
};

// The run that this plan will be, in the run `around`.
PlannedPlace place_of(const PlanNode& plan, const PlannedPlace& around, uint32_t index);

// as_steps: what has jobs instead of steps lists them as steps, too.
void render_planned_members(json::Writer& w, const PlanNode& plan, const PlannedPlace& place,
                            bool as_steps = false);
// {"workflow": {…}, and the same members beside it}
std::string planned_workflow_body(const State& state, const PlannedRun& planned);

// What clients call a step: the id that they gave it, else its name or place.
std::string step_id_text(const PlanNode& step, uint32_t index);
// The type of its job, or the kind of workflow that it is.
std::string step_type_text(const PlanNode& step);

}  // namespace pawl
