#include "kernel/jobs/change_job.h"

#include "kernel/frame.h"
#include "kernel/jobs/job.h"
#include "kernel/run.h"
#include "kernel/state.h"

namespace pawl {
namespace {

Error not_now(const Job& job, std::string_view why) {
  return Error{ErrorCode::Conflict, "job " + job.id.text() + " is " +
                                        std::string(state_name(job.state)) + "; " +
                                        std::string(why)};
}

}  // namespace

Status change_job(Frame& frame, const ChangeJob& command) {
  const Job* job = frame.state().find_job_here(command.job);
  if (job == nullptr) return Error{ErrorCode::NotFound, "job " + command.job.text() + " not found"};
  bool waits = job->state == JobState::Available || job->state == JobState::Scheduled ||
               job->state == JobState::Pending;
  if (!waits)
    return not_now(*job, "only a job that is available, scheduled or pending can be changed");
  if (command.scheduled_ms && job->state == JobState::Pending)
    return not_now(*job, "it has no time before it is activated");
  JobRequeued event;
  static_cast<JobEventHead&>(event) = event_head(*job);
  event.reason = RequeueReason::Changed;
  event.to = job->state;
  event.priority = command.priority.value_or(job->priority);
  event.scheduled_ms = command.scheduled_ms.value_or(job->scheduled_ms);
  event.spec = command.spec;
  if (command.scheduled_ms) {
    bool later = *command.scheduled_ms > frame.now_ms();
    event.to = later ? JobState::Scheduled : JobState::Available;
  }
  bool same = event.to == job->state && event.priority == job->priority &&
              event.scheduled_ms == job->scheduled_ms &&
              (event.spec.empty() || event.spec == job->spec);
  if (!same) frame.emit(event);
  return ok_status();
}

}  // namespace pawl
