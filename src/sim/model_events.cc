// The meaning of each event, and where it is legal.
#include <algorithm>

#include "sim/model.h"

namespace pawl::sim {
namespace {

bool names(const std::string& pattern, const std::string& text) {
  if (pattern.empty() || pattern.back() != '*') return pattern == text;
  return text.compare(0, pattern.size() - 1, pattern, 0, pattern.size() - 1) == 0;
}

bool pointless_to_retry(const ModelJob& job, const JobError& error) {
  if (error.final) return true;
  for (const std::string& pattern : job.policy.non_retryable)
    if (names(pattern, error.type) || names(pattern, error.code)) return true;
  return false;
}

}  // namespace

void JournalModel::happened(const JobCreated& event, const At& at) {
  auto known = jobs_.find(event.job);
  std::vector<ModelPoint> history;
  uint64_t born_before = 0;
  if (known != jobs_.end()) {
    if (!known->second.forgotten) return broken("I5 transition", at, event.job, "created twice");
    verdict_.reach(Probe::ForgottenIdReused);
    history = std::move(known->second.history);
    born_before = known->second.born;
    jobs_.erase(known);
  }
  ModelJob& job = jobs_[event.job];
  job.birth = event;
  job.history = std::move(history);
  bool readable = codec::decode(event.spec, job.spec);
  if (readable) modules_.work_made(job.spec.args);
  if (job.spec.retry.empty()) {
    job.policy = RetryPolicy::standard();
  } else {
    readable = readable && codec::decode(job.spec.retry, job.policy);
  }
  if (!readable) broken("I1 record", at, event.job, "the spec cannot be read");
  bool later = event.scheduled_ms > at.time_ms;
  if (event.state != JobState::Pending && later != (event.state == JobState::Scheduled))
    broken("I5 transition", at, event.job, "scheduled and available are mixed up");
  job.born = at.sequence;
  job.born_before = born_before;
  job.created_ms = at.time_ms;
  job.scheduled_ms = event.scheduled_ms;
  job.expires_ms = event.expires_ms;
  move(job, event.state, at);
  queues_[event.queue].settings.deleted = false;
  job.order = at.sequence;
  if (job.state == JobState::Available) queues_[event.queue].ready.insert(job.place());
  if (!event.unique_key.empty() && event.unique_key[0] == kStrictUniqueMark)
    new_keys_.insert(event.unique_key);
  runs_.job_created(event, at);
  note(job, at);
}

void JournalModel::happened(const JobPromoted& event, const At& at) {
  ModelJob* job = step(event, at, event.attempt);
  if (job == nullptr) return;
  if (job->state == JobState::Pending) {
    verdict_.reach(Probe::Activated);
  } else {
    bool scheduled = job->state == JobState::Scheduled;
    verdict_.reach(scheduled ? Probe::PromotedScheduled : Probe::PromotedRetryable);
    if (job->scheduled_ms > at.time_ms) broken("time", at, event.job, "promoted too early");
    if (job->expires_ms != 0 && job->expires_ms <= at.time_ms)
      broken("time", at, event.job, "promoted after it had expired");
  }
  move(*job, JobState::Available, at);
  job->order = at.sequence;
  queues_[event.queue].ready.insert(job->place());
  note(*job, at);
}

void JournalModel::happened(const JobLeased& event, const At& at) {
  ModelJob* job = step(event, at, attempt_of(event.job) + 1);
  if (job == nullptr) return;
  ModelQueue& queue = queues_[event.queue];
  if (queue.settings.paused) broken("pause", at, event.job, "leased from a paused queue");
  if (!queue.rate.allows(queue.settings.rate_per_second, 1000, at.time_ms))
    broken("rate", at, event.job, "leased over its queue's rate");
  if (!limit_allows(*job, at.time_ms))
    broken("limit", at, event.job, "leased over its key's limit");
  if (job->expires_ms != 0 && job->expires_ms <= at.time_ms)
    broken("time", at, event.job, "delivered after it had expired");
  for (const ModelPlace& place : queue.ready) {
    if (place == job->place()) break;
    if (limit_allows(jobs_.at(std::get<2>(place)), at.time_ms)) {
      broken("order", at, event.job, "leased before " + short_name(std::get<2>(place)));
      break;
    }
    verdict_.reach(Probe::FetchHeldByLimit);
  }
  move(*job, JobState::Active, at);
  if (queue.settings.rate_per_second != 0) queue.rate.use(1000, at.time_ms);
  if (!event.limit.empty() && limits_[event.limit].settings.rate != 0)
    limits_[event.limit].rate.use(limits_[event.limit].settings.period_ms, at.time_ms);
  job->attempt = event.attempt;
  job->worker = event.worker;
  job->lease_until_ms = event.lease_until_ms;
  job->deadline_ms = event.deadline_ms;
  if (!job->birth.parent.run.is_nil()) runs_.job_leased(job->birth.parent, event.job);
  int64_t deadline_ms = job->spec.timeout_ms == 0 ? 0 : at.time_ms + job->spec.timeout_ms;
  if (event.deadline_ms != deadline_ms) broken("time", at, event.job, "wrong deadline");
  note(*job, at);
}

void JournalModel::happened(const LeaseExtended& event, const At& at) {
  ModelJob* job = step(event, at, event.attempt);
  if (job == nullptr) return;
  verdict_.reach(Probe::LeaseExtended);
  check_lease_holds(*job, at);
  job->lease_until_ms = event.lease_until_ms;
  note(*job, at);
}

void JournalModel::happened(const JobCompleted& event, const At& at) {
  ModelJob* job = step(event, at, attempt_of(event.job));
  if (job == nullptr) return;
  check_lease_holds(*job, at);
  move(*job, JobState::Completed, at);
  job->result = event.result;
  note(*job, at);
}

void JournalModel::happened(const JobFailed& event, const At& at) {
  ModelJob* job = step(event, at, attempt_of(event.job));
  if (job == nullptr) return;
  bool exhausted =
      job->attempt >= job->birth.max_attempts || !runs_.may_try_again(job->birth.parent, event.job);
  bool pointless = pointless_to_retry(*job, event.error);
  if (event.error.code == "timeout") {
    verdict_.reach(Probe::TimedOut);
    if (job->deadline_ms == 0 || job->deadline_ms > at.time_ms)
      broken("time", at, event.job, "timed out too early");
  } else if (event.error.code == "lease_expired") {
    verdict_.reach(Probe::LeaseExpiredForGood);
    if (job->lease_until_ms > at.time_ms || !exhausted)
      broken("I6 lease", at, event.job, "its lease was taken too early");
  } else {
    check_lease_holds(*job, at);
  }
  if (event.to != (exhausted || pointless ? JobState::Discarded : JobState::Retryable))
    broken("retry", at, event.job, "retried or given up against its policy");
  bool dead =
      event.to == JobState::Discarded && job->policy.on_exhaustion == OnExhaustion::DeadLetter;
  if (event.dead_letter != dead) broken("retry", at, event.job, "dead letter against its policy");
  if (event.to == JobState::Retryable && event.retry_at_ms < at.time_ms)
    broken("retry", at, event.job, "is to be tried again in the past");
  if (event.to == JobState::Discarded)
    verdict_.reach(pointless ? Probe::FailedNonRetryable : Probe::FailedForGood);
  if (dead) verdict_.reach(Probe::DeadLetter);
  move(*job, event.to, at);
  job->scheduled_ms = event.retry_at_ms;
  job->dead_letter = dead;
  note(*job, at);
}

// By a client: only a waiting job can be moved.
void JournalModel::changed(ModelJob& job, const JobRequeued& event, const At& at) {
  auto waits = [](JobState state) {
    return state == JobState::Available || state == JobState::Scheduled ||
           state == JobState::Pending;
  };
  if (!waits(job.state) || !waits(event.to))
    broken("I5 transition", at, event.job, "was changed, though it does not wait");
  ModelQueue& queue = queues_[event.queue];
  if (job.state == JobState::Available) queue.ready.erase(job.place());
  if (event.to != job.state) job.order = at.sequence;
  job.state = event.to;
  job.birth.priority = event.priority;
  job.scheduled_ms = event.scheduled_ms;
  if (!event.spec.empty()) {
    job.birth.spec = event.spec;
    if (!codec::decode(event.spec, job.spec))
      broken("I5 transition", at, event.job, "was changed to what cannot be read");
  }
  if (event.to == JobState::Available) queue.ready.insert(job.place());
  note(job, at);
}

void JournalModel::happened(const JobRequeued& event, const At& at) {
  ModelJob* job = step(event, at, attempt_of(event.job));
  if (job == nullptr) return;
  if (event.reason == RequeueReason::Changed) return changed(*job, event, at);
  if (event.reason == RequeueReason::LeaseExpired) {
    verdict_.reach(Probe::LeaseExpired);
    if (job->state != JobState::Active || job->lease_until_ms > at.time_ms)
      broken("I6 lease", at, event.job, "its lease was taken too early");
  } else {
    verdict_.reach(Probe::Returned);
    check_lease_holds(*job, at);
  }
  if (!runs_.may_try_again(job->birth.parent, event.job))
    broken("I5 transition", at, event.job, "waits again, though its run has ended");
  move(*job, JobState::Available, at);
  queues_[event.queue].ready.insert(job->place());
  note(*job, at);
}

void JournalModel::happened(const JobCancelled& event, const At& at) {
  ModelJob* job = step(event, at, attempt_of(event.job));
  if (job == nullptr) return;
  if (job->state == JobState::Active) verdict_.reach(Probe::CancelledActive);
  if (event.was_held != (job->state == JobState::Active))
    broken("I6 lease", at, event.job, "its cancellation does not tell whether a worker held it");
  if (event.reason.rfind("replaced", 0) == 0) verdict_.reach(Probe::UniqueReplaced);
  if (event.reason.find("cron") != std::string::npos) verdict_.reach(Probe::CronCancelledPrevious);
  move(*job, JobState::Cancelled, at);
  note(*job, at);
}

void JournalModel::happened(const JobExpired& event, const At& at) {
  ModelJob* job = step(event, at, attempt_of(event.job));
  if (job == nullptr) return;
  verdict_.reach(Probe::ExpiredUndelivered);
  if (job->expires_ms == 0 || job->expires_ms > at.time_ms)
    broken("time", at, event.job, "expired too early");
  if (job->state == JobState::Active)
    broken("I5 transition", at, event.job, "expired while running");
  move(*job, JobState::Discarded, at);
  note(*job, at);
}

void JournalModel::happened(const JobRevived& event, const At& at) {
  ModelJob* job = step(event, at, 0);
  if (job == nullptr) return;
  verdict_.reach(Probe::Revived);
  revived_keys_.insert(job->birth.unique_key);
  bool restarted = runs_.is_restarted(job->birth.parent, event.job);
  bool may_come_back =
      job->state == JobState::Discarded || (restarted && job->state == JobState::Cancelled);
  if (!may_come_back) broken("I5 transition", at, event.job, "only a discarded job comes back");
  job->restarted = job->restarted || restarted;
  if (event.was_dead_letter != job->dead_letter)
    broken("I5 transition", at, event.job, "wrong about the dead letter list");
  move(*job, JobState::Available, at);
  job->attempt = 0;
  job->expires_ms = 0;
  job->dead_letter = false;
  job->order = at.sequence;
  queues_[event.queue].ready.insert(job->place());
  note(*job, at);
}

void JournalModel::happened(const JobsForgotten& event, const At& at) {
  uint64_t dead = 0;
  for (const JobId& id : event.jobs) {
    auto found = jobs_.find(id);
    if (found == jobs_.end() || found->second.forgotten) {
      broken("I5 transition", at, id, "forgotten, but was not there");
      continue;
    }
    ModelJob& job = found->second;
    if (!job.finished()) broken("I1 kept", at, id, "forgotten before it was finished");
    bool has_run = runs_.existing(job.birth.parent.run) != nullptr ||
                   scripts_.existing(job.birth.parent.run) != nullptr;
    if (has_run && (event.jobs.size() > 1 || job.state != JobState::Discarded))
      broken("I1 kept", at, id, "forgotten before its run");
    if (job.birth.queue != event.queue) broken("I5 transition", at, id, "another queue's job");
    if (job.state != JobState::Discarded) verdict_.reach(Probe::ForgottenByRetention);
    dead += job.dead_letter ? 1 : 0;
    job.forgotten = true;
    ++queues_[event.queue].forgotten[static_cast<size_t>(job.state)];
    note(job, at);
  }
  if (dead != event.dead) broken("count", at, JobId(), "wrong number of dead letters forgotten");
}

void JournalModel::happened(const CheckpointSaved& event, const At& at) {
  ModelJob* job = step(event, at, attempt_of(event.job));
  if (job == nullptr) return;
  if (event.sequence != job->checkpoint + 1)
    broken("checkpoint", at, event.job, "the checkpoint's number is not the next one");
  if (job->finished()) broken("checkpoint", at, event.job, "saved after the job had ended");
  job->checkpoint = event.sequence;
  note(*job, at);
}

void JournalModel::happened(const CheckpointDeleted& event, const At& at) {
  ModelJob* job = step(event, at, attempt_of(event.job));
  if (job == nullptr) return;
  job->checkpoint = 0;
  note(*job, at);
}

void JournalModel::happened(const ProgressReported& event, const At& at) {
  ModelJob* job = step(event, at, attempt_of(event.job));
  if (job == nullptr) return;
  if (job->finished()) broken("progress", at, event.job, "reported after the job had ended");
  job->progress = event.progress;
  note(*job, at);
}

void JournalModel::happened(const QueueConfigured& event, const At&) {
  queues_[event.queue].settings = event.settings;
}

void JournalModel::happened(const LimitConfigured& event, const At&) {
  limits_[event.key].settings = event.settings;
}

void JournalModel::happened(const DocPut& event, const At& at) {
  scripts_.document(event, at);
  modules_.document(event);
  documents_[event.key] = event.expires_ms;
}

void JournalModel::happened(const DocDeleted& event, const At& at) {
  if (event.key == kSwallowed) return;
  modules_.document(event);
  auto found = documents_.find(event.key);
  if (found == documents_.end()) return broken("document", at, JobId(), "deleted, but not there");
  if (found->second != 0 && found->second <= at.time_ms) verdict_.reach(Probe::DocumentForgotten);
  documents_.erase(found);
}

void JournalModel::happened(const CronPut& event, const At& at) {
  if (event.next_ms <= at.time_ms) broken("cron", at, JobId(), "its first run lies in the past");
  if (deleted_crons_.erase(event.cron.name) != 0) verdict_.reach(Probe::CronPutAgainAfterDelete);
  ModelCron& cron = crons_[event.cron.name];
  cron.spec = event.cron;
  cron.next_ms = event.next_ms;
}

void JournalModel::happened(const CronDeleted& event, const At& at) {
  if (crons_.erase(event.name) == 0) broken("cron", at, JobId(), "deleted, but not there");
  deleted_crons_.insert(event.name);
}

void JournalModel::happened(const CronFired& event, const At& at) {
  auto found = crons_.find(event.name);
  if (found == crons_.end()) return broken("cron", at, event.job, "fired after it was deleted");
  ModelCron& cron = found->second;
  bool by_time = event.due_ms == cron.next_ms;
  verdict_.reach(by_time ? Probe::CronFired : Probe::CronTriggered);
  const ModelJob* last = existing(cron.last_job);
  bool running = last != nullptr && !last->finished() && cron.last_job != event.job;
  if (by_time) {
    if (event.due_ms > at.time_ms) broken("cron", at, event.job, "fired too early");
    if (cron.spec.paused) broken("cron", at, event.job, "fired while it was paused");
    if (running && (cron.spec.overlap == CronOverlap::Skip ||
                    cron.spec.overlap == CronOverlap::CancelPrevious))
      broken("cron", at, event.job, "its runs overlap");
  }
  if (!cron.spec.paused && event.next_ms != 0 && event.next_ms <= at.time_ms)
    broken("cron", at, event.job, "its next run lies in the past");
  bool begun = cron.spec.definition.empty() ? existing(event.job) != nullptr
                                            : scripts_.existing(event.run) != nullptr;
  if (!begun) broken("cron", at, event.job, "what it starts is not there");
  if (!event.run.is_nil()) verdict_.reach(Probe::ScheduledScript);
  cron.next_ms = event.next_ms;
  cron.last_job = event.job;
}

void JournalModel::happened(const CronSkipped& event, const At& at) {
  verdict_.reach(Probe::CronSkipped);
  verdict_.tell("  cron " + event.name + " is skipped: " + event.reason);
  auto found = crons_.find(event.name);
  if (found == crons_.end()) return broken("cron", at, JobId(), "skipped after it was deleted");
  if (event.due_ms > at.time_ms) broken("cron", at, JobId(), "skipped too early");
  found->second.next_ms = event.next_ms;
}

}  // namespace pawl::sim
