// Nested workflows before they start, as Open Job Spec clients see them: all their jobs are
// waiting.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json_writer.h"
#include "base/uuid.h"

namespace pawl {

class State;
struct PlanNode;
struct PlannedRun;

struct PlannedPlace {
  std::string id;         // empty: not known yet
  std::string parent_id;  // likewise
  int64_t created_ms = 0;
  std::string_view state;  // of the workflow
  RunId run;
  std::optional<uint64_t> salt;
};

// The future run of this plan, inside the run `around`.
PlannedPlace place_of(const PlanNode& plan, const PlannedPlace& around, uint32_t index);

// as_steps: jobs of groups and batches are also listed as steps.
void render_planned_members(json::Writer& w, const PlanNode& plan, const PlannedPlace& place,
                            bool as_steps = false);
// {"workflow": {…}, and the same members beside it}
std::string planned_workflow_body(const State& state, const PlannedRun& planned);

// The id of a step for clients: the one they gave it, else its name or index.
std::string step_id_text(const PlanNode& step, uint32_t index);
// The type of its job, or its kind of workflow.
std::string step_type_text(const PlanNode& step);

}  // namespace pawl
