// Values of runs: the results of their children, guards over them, and the lists of maps.
#pragma once

#include <string>
#include <vector>

#include "base/json_writer.h"
#include "base/result.h"
#include "base/uuid.h"
#include "journal/events.h"

namespace pawl {

class Meter;
class State;
struct DagLinks;
struct Job;
struct PlanNode;
struct Run;

// The id of the job or nested run at this place: chosen by a client, or derived.
Uuid child_of(const State& state, const Run& run, uint32_t index);

// A child's result as JSON text: a job's result or null; for a failed one {"error":{…}}; a nested
// chain's last result; a nested group's, batch's or map's results as an object keyed by index; a
// dag's keyed by step name.
bool append_child_result(std::string& out, const State& state, const Run& run, uint32_t index,
                         size_t bytes_max = SIZE_MAX);
// False, with less in `out`, if there would be more than bytes_max in it.
bool append_run_result(std::string& out, const State& state, const Run& run,
                       size_t bytes_max = SIZE_MAX);

// The results given to a job of a run, by their index in their run.
struct ParentResults {
  const Run* run = nullptr;        // whose children they are; null: there are none
  std::vector<uint32_t> children;  // in order
};
ParentResults parent_results(const State& state, const JobParent& parent);

// The run's id for clients, also if it was deleted.
std::string shown_run_id(const State& state, const RunId& id);
// The error for retrying a nested run by itself: no step waits for its end any more.
Error part_of_another(const State& state, std::string_view what, const Run& run);

// {"parent_results": […], "workflow_id": …, "workflow": {…}} as members of a leased job's envelope.
constexpr uint32_t kParentResultsMax =
    1000;  // of a longer chain the latest; `parent_results_offset` tells where they begin
void render_parent_results(json::Writer& w, const State& state, const JobParent& place);

Result<bool> guard_holds(const State& state, const Run& run, uint32_t index, const PlanNode& node,
                         Meter& meter);
// One encoded PlanNode per item of plan.over.
Result<std::vector<std::string>> unfold_map(const State& state, const PlanNode& plan,
                                            const JobParent& parent, Meter& meter);

// Counted when first asked for, and kept with the run while it is in memory.
const DagLinks& dag_links(const State& state, const Run& run);

// Whether the queues have room for the jobs that start at once, all of them together.
Status admit_run(const State& state, const PlanNode& plan, Meter& meter);

// How a job or run that fills a step of a definition ended, for the step.
struct StepOutcome;
StepOutcome outcome_of(const State& state, const Uuid& child);

}  // namespace pawl
