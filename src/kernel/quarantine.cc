#include "kernel/quarantine.h"

#include "kernel/compositions/flow.h"
#include "kernel/compositions/run_flow.h"
#include "kernel/compositions/run_values.h"
#include "kernel/scripts/admission.h"
#include "kernel/scripts/retry.h"
#include "kernel/scripts/run_end.h"
#include "kernel/scripts/step_end.h"
#include "kernel/scripts/suspension.h"

namespace pawl {
namespace {

// Runs of jobs have a reason where runs of definitions have an error: it begins with the code.
std::string reason_with_code(const std::string& message) {
  return std::string(kQuarantined) + ": " + message;
}

void quarantine_job(Frame& frame, const Job& job, const QuarantineReason& reason) {
  JobFailed event;
  static_cast<JobStep&>(event) = step_of(job);
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

void quarantine_composition(Frame& frame, const RunId& id, const QuarantineReason& reason) {
  Flow flow(frame);
  flow.finish(id, RunState::Failed, reason_with_code(reason.message));
  if (!reason.bare) flow.stop(id, "its workflow was quarantined");
  flow.drain();
}

void quarantine_script(Frame& frame, const RunId& id, const QuarantineReason& reason) {
  StepNoted noted;
  noted.run = id;
  noted.type = "run_quarantined";
  Value::Object data;
  data.set("reason", reason.message);
  data.set("deaths", static_cast<int64_t>(reason.deaths));
  data.set("signal", static_cast<int64_t>(reason.signal));
  noted.data = Value(std::move(data)).json();
  frame.emit(noted);
  scripts::RunContext run(frame, id);
  if (!reason.bare)
    for (const std::string& path : run.script().live.copy())
      scripts::stop_list(run, path, "run_failed");
  if (run.script().status == ScriptStatus::Pending) leave_gate(frame, id);
  ScriptMoved event = scripts::moved_event(run, ScriptStatus::Failed);
  event.error = scripts::step_error(std::string(kQuarantined), reason.message);
  event.reason = reason.message;
  frame.emit(event);
  scripts::report_end(run);
}

Status release_script(Frame& frame, const RunId& id) {
  scripts::RunContext run(frame, id);
  if (run.state.plan_of(run.entity()) == nullptr)
    return Error{ErrorCode::Conflict,
                 "Run " + id.text() + " cannot go on: its text is gone; start it anew"};
  if (run.scope("") == nullptr) {
    begin_script(frame, id, false);
    return ok_status();
  }
  // One that was left as it was has lists that nobody has stopped.
  std::vector<std::string> open;
  run.state.each_scope(run.entity(), "", [&](const Scope& each) {
    if (!each.closed) open.push_back(each.path);
    return true;
  });
  for (const std::string& path : open) scripts::stop_list(run, path, "run_failed");
  PAWL_TRY_DO(scripts::retry(run, "", "", false));
  return ok_status();
}

}  // namespace

bool quarantine(Frame& frame, const Uuid& id, const QuarantineReason& reason) {
  WorkingOn working(id);
  if (const Run* run = frame.state().find_run(RunId(id))) {
    if (is_terminal(run->state)) return false;
    if (run->script) {
      quarantine_script(frame, RunId(id), reason);
    } else {
      quarantine_composition(frame, RunId(id), reason);
    }
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

bool is_quarantined(const Run& run) {
  if (run.state != RunState::Failed) return false;
  if (run.script) return run.script->error.code == kQuarantined;
  return run.reason.compare(0, kQuarantined.size(), kQuarantined) == 0;
}

std::string quarantine_message(const Run& run) {
  if (!is_quarantined(run)) return "";
  return run.script ? run.script->error.message : run.reason.substr(kQuarantined.size() + 2);
}

Status release_run(Frame& frame, const RunId& id) {
  const Run* run = frame.state().find_run(id);
  if (run == nullptr) return Error{ErrorCode::NotFound, "Run " + id.text() + " not found"};
  if (!is_quarantined(*run))
    return Error{ErrorCode::Conflict, "Run " + shown_id(*run) + " is not quarantined"};
  if (!run->parent.run.is_nil())
    return part_of_another(frame.state(), "Run", *run);
  if (run->script) return release_script(frame, id);
  return retry_run(frame, id);
}

}  // namespace pawl
