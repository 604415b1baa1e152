// A workflow as Open Job Spec clients see it: the run, its children's states, counters and errors.
#pragma once

#include "base/json_writer.h"
#include "kernel/state.h"

namespace pawl {
struct PlannedRun;
}

namespace pawl {

struct WorkflowPage {
  uint32_t from = 0;
  uint32_t limit = UINT32_MAX;
  bool count_cancelled = false;  // it has just been: tell how many steps that concerned
  bool as_steps = false;         // also what has jobs instead of steps lists them as steps
};

// {"workflow": {…}, and the same members beside it}: some clients read one, some the other. Of
// large ones the part of the children that a reply has room for, and their results only once.
std::string workflow_body(const State& state, const Run& run, const WorkflowPage& page);
// Without children: for lists.
void render_workflow_summary(json::Writer& w, const State& state, const Run& run);

std::string workflow_id_text(const Run& run);

// How many it has and how many of them ended: of steps, and where it has jobs, of jobs first.
void render_counts(json::Writer& w, bool chain_like, int64_t total, int64_t completed,
                   int64_t failed);
// What clients call a step: the id that they gave it, else its name or place.
std::string step_id_text(const State& state, const Run& run, uint32_t index);
// Of a workflow that has not started: pending, or cancelled if it never will.
std::string_view planned_state_text(const PlannedRun& planned);

}  // namespace pawl
