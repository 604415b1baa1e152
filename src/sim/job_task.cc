// Requests about one job: their effect, and when they should succeed.
#include "kernel/frame.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/job_notes.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/state.h"
#include "sim/tasks.h"

namespace pawl::sim {

std::string_view op_name(JobOp op) {
  static constexpr std::string_view kNames[] = {
      "read",     "ack",    "nack",        "return",     "heartbeat",       "cancel",
      "activate", "revive", "delete-dead", "checkpoint", "drop-checkpoint", "progress"};
  return kNames[static_cast<size_t>(op)];
}

bool JobTask::perform(Frame& frame) {
  switch (op) {
    case JobOp::Read:
      return frame.state().find_job(sent.job) != nullptr;
    case JobOp::Ack:
      return ack_job(frame, sent, text).ok();
    case JobOp::Nack:
      return nack_job(frame, {sent, error, false}).ok();
    case JobOp::Return:
      return nack_job(frame, {sent, error, true}).ok();
    case JobOp::Heartbeat:
      return extend_lease(frame, sent, lease_ms, 30'000);
    case JobOp::Cancel:
      return cancel_job(frame, sent.job, "asked for").ok();
    case JobOp::Activate:
      return activate_job(frame, sent.job).ok();
    case JobOp::Revive:
      return revive_job(frame, sent.job).ok();
    case JobOp::DeleteDead:
      return delete_dead(frame, sent.job).ok();
    case JobOp::SaveCheckpoint:
      return save_checkpoint(frame, {sent.job, text}).ok();
    case JobOp::DeleteCheckpoint:
      return delete_checkpoint(frame, sent.job).ok();
    case JobOp::Progress:
      return report_progress(frame, {sent.job, text, "", ""}).ok();
  }
  return false;
}

std::optional<Parking> JobTask::run(Frame& frame, bool) {
  if (wants_mark) leave_mark(frame);
  ok = perform(frame);
  if (const Job* job = frame.state().find_job(sent.job)) {
    version_ = job->version;
    state_ = job->state;
    attempt_ = job->attempt;
  }
  return std::nullopt;
}

// Whether this point cancelled it during the claimed lease: then the worker is told so, and nothing
// else happens.
bool JobTask::was_cancelled_under(const ModelJob& job, const ModelPoint& end) const {
  if (end.state != JobState::Cancelled) return false;
  const ModelPoint* before = &end;
  while (before != &job.history.front() && before->state == JobState::Cancelled) --before;
  return before->state == JobState::Active &&
         (claim.worker.empty() || claim.worker == before->worker) &&
         (claim.attempt == 0 || claim.attempt == before->attempt);
}

// By the specification, given the state before this request.
bool JobTask::should_succeed() const {
  const ModelJob* job = desk_.model.existing(claim.job);
  if (job == nullptr) return false;
  switch (op) {
    case JobOp::Read:
    case JobOp::DeleteCheckpoint:
      return true;
    case JobOp::Ack:
    case JobOp::Nack:
    case JobOp::Return:
    case JobOp::Heartbeat:
      return (job->state == JobState::Active &&
              (claim.worker.empty() || claim.worker == job->worker) &&
              (claim.attempt == 0 || claim.attempt == job->attempt)) ||
             (op != JobOp::Heartbeat && was_cancelled_under(*job, job->history.back()));
    case JobOp::Cancel:
    case JobOp::SaveCheckpoint:
    case JobOp::Progress:
      return !job->finished();
    case JobOp::Activate:
      return job->state == JobState::Pending;
    case JobOp::Revive:
    case JobOp::DeleteDead:
      return job->state == JobState::Discarded;
  }
  return false;
}

void JobTask::judge_at_mark() {
  bool should = should_succeed();
  if (should == ok) return;
  bool by_lease = op == JobOp::Ack || op == JobOp::Nack || op == JobOp::Return;
  desk_.verdict.fail(by_lease ? "I6 lease" : "model job",
                     std::string(op_name(op)) + " of " + short_name(claim.job) +
                         (should ? " was refused and should not have been"
                                 : " was taken and should have been refused"));
}

void JobTask::judge_reply() {
  const ModelJob* job = desk_.model.find(claim.job);
  if (!ok) {
    if (op != JobOp::Ack) return;
    return desk_.verdict.reach(sent_before ? Probe::DoubleAckRefused : Probe::StaleAckRefused);
  }
  if (job == nullptr)
    return desk_.verdict.fail(
        "I1 acknowledged",
        std::string(op_name(op)) + " of " + short_name(claim.job) + " succeeded on an unknown job");
  if (op == JobOp::DeleteDead) return desk_.verdict.reach(Probe::DeadDeleted);
  judge_read();
  if (!desk_.verdict.failed()) judge_effect(*job);
}

// The reply must show a state that the job really had, and not one from before the last batch.
void JobTask::judge_read() const {
  const ModelJob* job = desk_.model.find(claim.job);
  const ModelPoint* point = job->point_at(version_);
  if (point == nullptr || point->state != state_ || point->attempt != attempt_)
    return desk_.verdict.fail(
        "model read", "job " + short_name(claim.job) + " was seen in a state that it never had");
  for (const ModelPoint& later : job->history)
    if (later.sequence > version_ && journal::record_of(later.sequence) < needs_record)
      return desk_.verdict.fail(
          "model read", "job " + short_name(claim.job) + " was seen in a state that had passed");
}

void JobTask::judge_effect(const ModelJob& job) const {
  const ModelPoint* point = job.point_at(version_);
  auto became = [&](std::initializer_list<JobState> states) {
    for (JobState state : states)
      if (point->state == state) return;
    desk_.verdict.fail("I5 transition", std::string(op_name(op)) + " of " + short_name(claim.job) +
                                            " had another effect than it should");
  };
  bool by_lease = op == JobOp::Ack || op == JobOp::Nack || op == JobOp::Return;
  if (by_lease && was_cancelled_under(job, *point)) return;
  switch (op) {
    case JobOp::Ack:
      became({JobState::Completed});
      if (job.born <= version_) desk_.acknowledged.completed(job, text);
      break;
    case JobOp::Nack:
      became({JobState::Retryable, JobState::Discarded});
      break;
    case JobOp::Cancel:
      became({JobState::Cancelled});
      if (job.born <= version_) desk_.acknowledged.cancelled(job);
      break;
    case JobOp::Return:
      if (!job.birth.parent.run.is_nil() && point->state == JobState::Cancelled) break;
      became({JobState::Available});
      break;
    case JobOp::Activate:
    case JobOp::Revive:
      became({JobState::Available});
      break;
    case JobOp::Heartbeat:
      became({JobState::Active});
      break;
    case JobOp::Read:
    case JobOp::DeleteDead:
    case JobOp::SaveCheckpoint:
    case JobOp::DeleteCheckpoint:
    case JobOp::Progress:
      break;
  }
  // Without marks too: a request with a worker and an attempt must come from the holder of that
  // lease.
  if (!by_lease || claim.attempt == 0) return;
  const ModelPoint* held = point;
  while (held != &job.history.front() && held->state != JobState::Active) --held;
  if (held->attempt != claim.attempt || (!claim.worker.empty() && held->worker != claim.worker))
    desk_.verdict.fail("I6 lease", std::string(op_name(op)) + " of " + short_name(claim.job) +
                                       " by a stale lease was taken");
}

}  // namespace pawl::sim
