// How runs advance. Every end of a job or of a nested run goes through job_ended(), and its
// consequences (the next step, a fan-in, callbacks, the end of the run and of its parent runs)
// happen in the same frame: so they happen exactly once, or, if the frame is lost, not at all (I4).
#pragma once

#include <string>

#include "base/result.h"
#include "base/uuid.h"
#include "journal/events.h"

namespace pawl {

class Frame;
class State;
struct Job;
struct PlanNode;

// Creates and starts a run. InvalidContent if its own `over` cannot be evaluated.
Result<RunId> create_run(Frame& frame, const PlanNode& plan, const std::string& tenant);
// The same as a step of a definition's run: `parent` names the run and the step's effect.
Status create_child_run(Frame& frame, const PlanNode& plan, const JobParent& parent,
                        const std::string& tenant);

// After every event that ends a job.
void job_ended(Frame& frame, const JobId& job);
// After every lease: the first one starts the job's run and its parent runs.
void job_began(Frame& frame, const JobId& job);

// Whether a failed attempt of this job may be tried again: not once its run has ended.
bool may_try_again(const State& state, const Job& job);

}  // namespace pawl
