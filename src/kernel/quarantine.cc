#include "kernel/quarantine.h"

#include "base/working_on.h"
#include "kernel/compositions/run_flow.h"
#include "kernel/compositions/run_values.h"
#include "kernel/frame.h"
#include "kernel/jobs/job.h"
#include "kernel/run.h"
#include "kernel/run_family.h"
#include "kernel/state.h"

namespace pawl {
namespace {

void quarantine_job(Frame& frame, const Job& job, const QuarantineReason& reason) {
  JobFailed event;
  static_cast<JobEventHead&>(event) = event_head(job);
  event.to = JobState::Discarded;
  event.dead_letter = true;
  event.error.code = event.error.type = kQuarantined;
  event.error.message = reason.message;
  event.error.final = true;
  event.error.attempt = job.attempt;
  event.error.at_ms = frame.now_ms();
  JobId id = job.id;
  frame.emit(event);
  if (!reason.bare) job_ended(frame, id);
}

}  // namespace

bool quarantine(Frame& frame, const Uuid& id, const QuarantineReason& reason) {
  WorkingOn working(id);
  if (const Run* run = frame.state().find_run(RunId(id))) {
    if (is_terminal(run->state)) return false;
    family_of(*run).quarantine(frame, *run, reason);
    return true;
  }
  const Job* job = frame.state().find_job(JobId(id));
  if (job == nullptr || is_terminal(job->state)) return false;
  quarantine_job(frame, *job, reason);
  return true;
}

void quarantine_created(Frame& frame, const ScriptCreated& created,
                        const QuarantineReason& reason) {
  if (frame.state().find_run(created.run) != nullptr) return;
  ScriptCreated event;
  event.run = created.run;
  event.tenant = created.tenant;
  event.client_id = created.client_id;
  event.parent = created.parent;
  event.inputs = "{}";
  frame.emit(event);
  (void)quarantine(frame, created.run, reason);
}

std::string quarantine_message(const Run& run) {
  return run.state == RunState::Failed ? family_of(run).quarantine_message(run) : "";
}

bool is_quarantined(const Run& run) { return !quarantine_message(run).empty(); }

Status release_run(Frame& frame, const RunId& id) {
  const Run* run = frame.state().find_run(id);
  if (run == nullptr) return Error{ErrorCode::NotFound, "Run " + id.text() + " not found"};
  if (!is_quarantined(*run))
    return Error{ErrorCode::Conflict, "Run " + shown_id(*run) + " is not quarantined"};
  if (!run->parent.run.is_nil()) return part_of_another(frame.state(), "Run", *run);
  return family_of(*run).release(frame, *run);
}

}  // namespace pawl
