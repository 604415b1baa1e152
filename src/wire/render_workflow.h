// A workflow as Open Job Spec clients see it: the run, its children's states, counters and errors.
#pragma once

#include "base/json_writer.h"
#include "base/named.h"
#include "journal/run_events.h"

namespace pawl {

class State;
struct Run;

struct PlannedRun;

// How a child that has ended is shown.
inline constexpr Named<ChildState> kChildEnds[] = {{"completed", ChildState::Completed},
                                                   {"failed", ChildState::Failed},
                                                   {"cancelled", ChildState::Cancelled},
                                                   {"skipped", ChildState::Skipped}};

struct WorkflowPage {
  uint32_t from = 0;
  uint32_t limit = UINT32_MAX;
  bool count_cancelled = false;  // it was just cancelled: count the affected steps
  bool as_steps = false;         // also list the jobs of groups and batches as steps
};

// {"workflow": {…}, and the same members beside it}: some clients read one, some the other. Large
// workflows show as many children as fit, with their results only once.
std::string workflow_body(const State& state, const Run& run, const WorkflowPage& page);
// Without children: for lists.
void render_workflow_summary(json::Writer& w, const State& state, const Run& run);

std::string workflow_id_text(const Run& run);

// The total and the ended steps; for groups and batches the counts of jobs come first.
void render_counts(json::Writer& w, bool chain_like, int64_t total, int64_t completed,
                   int64_t failed);
// The id of a step for clients: the one they gave it, else its name or index.
std::string step_id_text(const State& state, const Run& run, uint32_t index);
// Of a workflow that has not started: pending, or cancelled if it never will.
std::string_view planned_state_text(const PlannedRun& planned);

}  // namespace pawl
