#include "kernel/quarantine.h"

#include "kernel/flow.h"
#include "kernel/run_flow.h"
#include "kernel/run_values.h"
#include "kernel/scripts/admission.h"
#include "kernel/scripts/flow.h"

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
  ScriptFlow(frame, id).quarantine(step_error(std::string(kQuarantined), reason.message),
                                   reason.bare);
}

}  // namespace

void ScriptFlow::quarantine(const StepError& error, bool bare) {
  if (!bare)
    for (const std::string& path : script().live.copy()) stop_scope(path, "run_failed");
  looks_.clear();
  if (script().status == ScriptStatus::Pending) leave_gate(frame_, id_);
  ScriptMoved event = moved(ScriptStatus::Failed);
  event.error = error;
  event.reason = error.message;
  frame_.emit(event);
  JobParent parent = run().parent;
  if (!parent.run.is_nil())
    pawl::effect_done(frame_, parent.run, parent.node, outcome_of_script(script()));
}

Status ScriptFlow::release() {
  if (state_.plan_of(run()) == nullptr)
    return Error{ErrorCode::Conflict,
                 "Run " + id_.text() + " cannot go on: its text is gone; start it anew"};
  if (scope("") == nullptr) {
    begin(false);
    return ok_status();
  }
  // One that was left as it was has lists that nobody has stopped.
  std::vector<std::string> open;
  state_.each_scope(run(), "", [&](const Scope& each) {
    if (!each.closed) open.push_back(each.path);
    return true;
  });
  for (const std::string& path : open) stop_scope(path, "run_failed");
  PAWL_TRY_DO(retry("", "", false));
  return ok_status();
}

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
  if (run->script) return ScriptFlow(frame, id).release();
  return retry_run(frame, id);
}

}  // namespace pawl
