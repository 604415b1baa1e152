#include "kernel/jobs/job_notes.h"

#include "kernel/frame.h"
#include "kernel/jobs/job.h"
#include "kernel/run.h"
#include "kernel/state.h"

namespace pawl {
namespace {

Result<const Job*> unfinished(const Frame& frame, const JobId& id) {
  const Job* job = frame.state().find_job_here(id);
  if (job == nullptr) return Error{ErrorCode::NotFound, "job " + id.text() + " not found"};
  if (is_terminal(job->state))
    return Error{ErrorCode::Conflict, "job " + id.text() + " is already in terminal state '" +
                                          std::string(state_name(job->state)) + "'"};
  return job;
}

}  // namespace

Result<uint64_t> save_checkpoint(Frame& frame, const SaveCheckpoint& command) {
  PAWL_TRY(const Job* job, unfinished(frame, command.job));
  CheckpointSaved event;
  static_cast<JobEventHead&>(event) = event_head(*job);
  event.state = command.state;
  event.sequence = (job->extras ? job->extras->checkpoint_sequence : 0) + 1;
  frame.emit(event);
  return event.sequence;
}

Status delete_checkpoint(Frame& frame, const JobId& id) {
  const Job* job = frame.state().find_job_here(id);
  if (job == nullptr) return Error{ErrorCode::NotFound, "job " + id.text() + " not found"};
  if (!job->extras || job->extras->checkpoint_sequence == 0) return ok_status();
  CheckpointDeleted event;
  static_cast<JobEventHead&>(event) = event_head(*job);
  frame.emit(event);
  return ok_status();
}

Status report_progress(Frame& frame, const ReportProgress& command) {
  PAWL_TRY(const Job* job, unfinished(frame, command.job));
  ProgressReported event;
  static_cast<JobEventHead&>(event) = event_head(*job);
  event.progress = command.progress;
  event.message = command.message;
  event.data = command.data;
  frame.emit(event);
  return ok_status();
}

}  // namespace pawl
