#include "kernel/jobs/finish_job.h"

#include "base/backoff.h"
#include "kernel/compositions/run_flow.h"
#include "kernel/frame.h"
#include "kernel/jobs/fetch_jobs.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/queue.h"
#include "kernel/messages/claims.h"
#include "kernel/messages/placing.h"
#include "kernel/run.h"
#include "kernel/state.h"
#include "plan/ojs/job_spec.h"
#include "plan/script.h"

namespace pawl {
namespace {

template <class Event>
Event event_for(const Job& job) {
  Event event;
  static_cast<JobEventHead&>(event) = event_head(job);
  return event;
}

Error no_such_job(const JobId& id) {
  return Error{ErrorCode::NotFound, "job " + id.text() + " not found"}
      .with("resource_type", "job")
      .with("resource_id", id.text());
}

Error wrong_state(const Job& job, std::string_view needed) {
  return Error{ErrorCode::Conflict, "job " + job.id.text() + " is " +
                                        std::string(state_name(job.state)) + ", not " +
                                        std::string(needed)}
      .with("job_id", job.id.text())
      .with("current_state", std::string(state_name(job.state)));
}

Result<const Job*> holder(const Frame& frame, const LeaseClaim& claim) {
  const Job* job = frame.state().find_job_here(claim.job);
  if (job == nullptr) return no_such_job(claim.job);
  if (job->state != JobState::Active) return wrong_state(*job, "active");
  if (!claim.worker.empty() && claim.worker != job->worker)
    return Error{ErrorCode::Conflict, "job " + job->id.text() + " is leased to another worker"};
  if (claim.attempt != 0 && claim.attempt != job->attempt)
    return Error{ErrorCode::Conflict,
                 "job " + job->id.text() + " is in attempt " + std::to_string(job->attempt)};
  return job;
}

// For a claim that holder() refused: ok if the job was cancelled while this lease held it.
Status refusal_of(const Frame& frame, const LeaseClaim& claim, Error refusal) {
  const Job* job = frame.state().find_job_here(claim.job);
  bool cancelled_under = job != nullptr && job->state == JobState::Cancelled && job->extras &&
                         job->extras->cancelled_while_held &&
                         (claim.worker.empty() || claim.worker == job->extras->cancelled_worker) &&
                         (claim.attempt == 0 || claim.attempt == job->attempt);
  if (cancelled_under) return ok_status();
  return refusal;
}

bool matches(std::string_view pattern, std::string_view type) {
  if (!pattern.empty() && pattern.back() == '*')
    return type.substr(0, pattern.size() - 1) == pattern.substr(0, pattern.size() - 1);
  return pattern == type;
}

bool is_final(const JobError& error, const RetryPolicy& policy) {
  if (error.final) return true;
  for (const std::string& pattern : policy.non_retryable)
    if (matches(pattern, error.type) || (error.type != error.code && matches(pattern, error.code)))
      return true;
  return false;
}

void fail(Frame& frame, const Job& job, JobError error) {
  RetryPolicy policy = job.retry_policy();
  auto event = event_for<JobFailed>(job);
  error.attempt = job.attempt;
  error.at_ms = frame.now_ms();
  bool again = job.attempt < job.max_attempts && !is_final(error, policy) &&
               may_try_again(frame.state(), job);
  event.to = again ? JobState::Retryable : JobState::Discarded;
  if (again) {
    BackoffPolicy backoff{.strategy = policy.backoff,
                          .initial_ms = policy.initial_ms,
                          .coefficient = policy.coefficient_milli / 1000.0,
                          .max_ms = policy.max_ms,
                          .jitter = !policy.no_jitter};
    event.retry_delay_ms = backoff_ms(backoff, job.attempt, frame.draw());
    event.retry_at_ms = frame.now_ms() + event.retry_delay_ms;
  } else {
    event.dead_letter = policy.on_exhaustion == OnExhaustion::DeadLetter;
  }
  event.error = std::move(error);
  JobId id = job.id;
  frame.emit(event);
  if (!again) job_ended(frame, id);
}

}  // namespace

JobEventHead event_head(const Job& job) {
  JobEventHead step;
  step.job = job.id;
  step.queue = job.queue->name;
  step.type = type_of_spec(job.spec);
  step.from = job.state;
  step.attempt = job.attempt;
  step.limit = job.limit;
  step.elsewhere = job.is_elsewhere();
  return step;
}

Status ack_job(Frame& frame, const LeaseClaim& claim, const std::string& result) {
  auto job = holder(frame, claim);
  if (!job.ok()) return refusal_of(frame, claim, std::move(job).error());
  auto event = event_for<JobCompleted>(**job);
  event.result = result;
  event.started_ms = (*job)->started_ms;
  frame.emit(event);
  job_ended(frame, claim.job);
  return ok_status();
}

Status nack_job(Frame& frame, const NackJob& command) {
  auto held = holder(frame, command.claim);
  if (!held.ok()) return refusal_of(frame, command.claim, std::move(held).error());
  const Job* job = *held;
  if (!command.requeue) {
    fail(frame, *job, command.error);
    return ok_status();
  }
  if (!may_try_again(frame.state(), *job)) {
    cancel_job(frame, *job, "its workflow has ended");
    return ok_status();
  }
  auto event = event_for<JobRequeued>(*job);
  event.reason = RequeueReason::Returned;
  frame.emit(event);
  return ok_status();
}

bool extend_lease(Frame& frame, const LeaseClaim& claim, int64_t asked_ms, int64_t default_ms) {
  auto job = holder(frame, claim);
  if (!job.ok()) return false;
  auto event = event_for<LeaseExtended>(**job);
  event.lease_until_ms = frame.now_ms() + lease_ms(**job, asked_ms, default_ms);
  frame.emit(event);
  return true;
}

void cancel_job(Frame& frame, const Job& job, std::string_view reason) {
  if (job.is_elsewhere()) return cancel_elsewhere(frame, job, reason, false);
  auto event = event_for<JobCancelled>(job);
  event.reason = reason;
  event.was_held = job.state == JobState::Active;
  frame.emit(event);
  job_ended(frame, event.job);
}

Status cancel_job(Frame& frame, const JobId& id, std::string_view reason) {
  const Job* job = frame.state().find_job_here(id);
  if (job == nullptr) return no_such_job(id);
  if (is_terminal(job->state))
    return Error{ErrorCode::Conflict, "job " + id.text() + " is already in terminal state '" +
                                          std::string(state_name(job->state)) + "'"}
        .with("job_id", id.text())
        .with("current_state", std::string(state_name(job->state)));
  cancel_job(frame, *job, reason);
  return ok_status();
}

Status activate_job(Frame& frame, const JobId& id) {
  const Job* job = frame.state().find_job_here(id);
  if (job == nullptr) return no_such_job(id);
  if (job->state != JobState::Pending) return wrong_state(*job, "pending");
  frame.emit(event_for<JobPromoted>(*job));
  return ok_status();
}

Status revive_job(Frame& frame, const JobId& id) {
  const Job* job = frame.state().find_job_here(id);
  if (job == nullptr) return no_such_job(id);
  if (job->state != JobState::Discarded) return wrong_state(*job, "discarded");
  revive(frame, *job);
  return ok_status();
}

Status revive_ended_job(Frame& frame, const JobId& id) {
  const Job* job = frame.state().find_job_here(id);
  if (job == nullptr) return no_such_job(id);
  if (job->state != JobState::Discarded && job->state != JobState::Cancelled)
    return wrong_state(*job, "discarded or cancelled");
  revive(frame, *job);
  return ok_status();
}

void revive(Frame& frame, const Job& job) {
  auto event = event_for<JobRevived>(job);
  event.was_dead_letter = job.dead_letter;
  event.attempt = 0;
  frame.emit(event);
  if (event.elsewhere) return revive_elsewhere(frame, event.job);
  tell_unique_home(frame, job);
}

Status delete_dead(Frame& frame, const JobId& id) {
  const Job* job = frame.state().find_job_here(id);
  if (job == nullptr) return no_such_job(id);
  if (job->state != JobState::Discarded) return wrong_state(*job, "discarded");
  JobsForgotten event;
  event.jobs = {id};
  event.queue = job->queue->name;
  event.dead = job->dead_letter ? 1 : 0;
  frame.emit(event);
  return ok_status();
}

// An expired lease: the job becomes available again, unless its attempts are used up; a job that
// kills every worker must not repeat for ever.
void expire_lease(Frame& frame, const Job& job) {
  if (job.attempt >= job.max_attempts || !may_try_again(frame.state(), job)) {
    fail(frame, job,
         {.code = "lease_expired",
          .type = "lease_expired",
          .message = "the worker was not heard of before the lease ran out"});
    return;
  }
  frame.emit(event_for<JobRequeued>(job));
}

void fail_by_timeout(Frame& frame, const Job& job) {
  fail(frame, job,
       {.code = "timeout", .type = "timeout", .message = "the job ran longer than its timeout_ms"});
}

void expire_job(Frame& frame, const Job& job) {
  auto event = event_for<JobExpired>(job);
  frame.emit(event);
  job_ended(frame, event.job);
}

}  // namespace pawl
