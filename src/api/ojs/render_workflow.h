// A workflow as Open Job Spec clients see it: the run, its children's states, counters and errors.
#pragma once

#include "base/json_writer.h"
#include "kernel/state.h"

namespace pawl {
struct PlannedRun;
}

namespace pawl::api {

struct WorkflowPage {
  uint32_t from = 0;
  uint32_t limit = UINT32_MAX;
  bool count_cancelled = false;  // it has just been: tell how many steps that concerned
};

// {"workflow": {…}, and the same members beside it}: some clients read one, some the other. Of
// large ones the part of the children that a reply has room for, and their results only once.
std::string workflow_body(const State& state, const Run& run, const WorkflowPage& page);
// Without children: for lists.
void render_workflow_summary(json::Writer& w, const State& state, const Run& run);
// A nested one that has not started, in the same form: all that is in it waits.
std::string planned_workflow_body(const State& state, const PlannedRun& planned);

std::string workflow_id_text(const Run& run);

// What clients call a step: the id that they gave it, else its name or place.
std::string step_id_text(const State& state, const Run& run, uint32_t index);
std::string step_id_text(const PlanNode& step, uint32_t index);
// The type of its job, or the kind of workflow that it is.
std::string step_type_text(const PlanNode& step);
// Of a workflow that has not started: pending, or cancelled if it never will.
std::string_view planned_state_text(const PlannedRun& planned);

}  // namespace pawl::api
