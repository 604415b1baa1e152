// Applies each job event to the job, to its queue's counts and to its concurrency key. No decisions
// here.
#include "kernel/jobs/job.h"
#include "kernel/jobs/queue.h"
#include "kernel/mutable_state.h"
#include "kernel/resident.h"
#include "kernel/state_memory.h"
#include "kernel/timer_key.h"

namespace pawl {
namespace {

TimerKey timer_key(const Job& job, int64_t due_ms) { return {due_ms, TimerKind::Job, job.id}; }

void end_lease(Job& job) {
  job.worker.clear();
  job.lease_until_ms = 0;
  job.deadline_ms = 0;
}

// A waiting job keeps its order among those of its priority.
void take_change(Job& job, const JobRequeued& event, Stamp stamp) {
  if (event.to != event.from) {
    job.order = stamp.sequence;
    job.enqueued_ms = event.to == JobState::Available ? stamp.time_ms : 0;
  }
  job.priority = event.priority;
  job.scheduled_ms = event.scheduled_ms;
  if (!event.spec.empty()) job.spec = event.spec;
}

void use_rate(int64_t& window_ms, uint32_t& used, int64_t period_ms, int64_t now_ms) {
  if (now_ms - window_ms >= period_ms) {
    window_ms = now_ms;
    used = 0;
  }
  ++used;
}

}  // namespace

void MutableState::changed(Resident& entity, Stamp stamp) {
  entity.version = stamp.sequence;
  if (!memory_->awaited.empty()) note_awaited(entity);
  if (entity.dirty_since != 0) return;
  if (entity.in_flight == 0 && entity.before != nullptr) {
    if (entity.kind == EntityKind::Job) memory_->clean_jobs.remove(entity);
    if (entity.kind == EntityKind::Run) memory_->clean_runs.remove(entity);
  }
  entity.dirty_since = stamp.sequence;
  memory_->dirty.push_newest(entity);
}

// Any change of a job or run that a cron waits for may be its end.
void MutableState::note_awaited(const Resident& entity) {
  Uuid id;
  if (entity.kind == EntityKind::Job) id = static_cast<const Job&>(entity).id;
  if (entity.kind == EntityKind::Run) id = static_cast<const Run&>(entity).id;
  for (auto at = memory_->awaited.lower_bound({id, ""});
       at != memory_->awaited.end() && at->first == id; ++at)
    memory_->cron_looks.insert(at->second);
}

void MutableState::place(Job& job) {
  JobPlaces places = job.current_places();
  if (places.ready) {
    job.queue->ready->insert(ready_key(job));
    if (job.queue->ready->too_large() && !job.queue->oversized) {
      job.queue->oversized = true;
      memory_->oversized_queues.push_back(job.queue);
    }
  }
  if (places.due_ms != 0) memory_->timers.insert(timer_key(job, places.due_ms));
}

void MutableState::unplace(Job& job) {
  JobPlaces places = job.current_places();
  if (places.ready) job.queue->ready->erase(ready_key(job));
  if (places.due_ms != 0) memory_->timers.erase(timer_key(job, places.due_ms));
}

// The job, unless its row already holds this event.
Job* MutableState::job_for(const JobEventHead& step, Stamp stamp) {
  Job* job = resident_job(step.job);
  if (job == nullptr || job->forgotten || job->version >= stamp.sequence) return nullptr;
  changed(*job, stamp);
  return job;
}

Queue* MutableState::queue_for(std::string_view scoped, Stamp stamp) {
  Queue& queue = need_queue(scoped);
  if (queue.version >= stamp.sequence) return nullptr;
  if (queue.created_ms == 0) queue.created_ms = stamp.time_ms;
  changed(queue, stamp);
  return &queue;
}

Limit* MutableState::limit_for(std::string_view key, Stamp stamp) {
  auto at = memory_->limits.find(key);
  if (at == memory_->limits.end()) {
    at = memory_->limits.emplace(key, std::make_unique<Limit>()).first;
    at->second->key = key;
  }
  if (at->second->version >= stamp.sequence) return nullptr;
  changed(*at->second, stamp);
  return at->second.get();
}

Queue* MutableState::count_move(const JobEventHead& step, JobState to, Stamp stamp) {
  if (step.elsewhere) return nullptr;  // counted there
  Queue* queue = queue_for(step.queue, stamp);
  if (queue != nullptr) {
    if (step.from != JobState::None) --queue->counts[static_cast<size_t>(step.from)];
    ++queue->counts[static_cast<size_t>(to)];
  }
  if (step.limit.empty() || (to == JobState::Active) == (step.from == JobState::Active))
    return queue;
  if (Limit* limit = limit_for(step.limit, stamp)) {
    if (to != JobState::Active) {
      --limit->active;
      for (auto& [name, held_back] : std::exchange(limit->held_back, {})) wake(*held_back);
    } else {
      ++limit->active;
      if (limit->settings.rate != 0)
        use_rate(limit->window_ms, limit->used, limit->settings.period_ms, stamp.time_ms);
    }
  }
  return queue;
}

void MutableState::wake(Queue& queue) {
  if (queue.wake) return;
  queue.wake = true;
  memory_->ready_queues.push_back(&queue);
}

void MutableState::apply(const JobCreated& event, Stamp stamp) {
  if (Queue* queue = count_move(event, event.state, stamp)) queue->settings.deleted = false;
  if (event.elsewhere) (void)queue_for(event.queue, stamp);  // jobs name one that is stored
  child_started(event.parent, event.job, stamp);
  // Only a fold can find a row that is newer than its event; a live event is new, so the disk is
  // not searched.
  if (Job* known = folding_ ? resident_job(event.job) : memory_->jobs.find(event.job)) {
    if (!known->forgotten || known->version >= stamp.sequence) return;  // its row is newer
    memory_->buried.emplace(known, memory_->jobs.take(known->id));
  }
  auto fresh = std::make_unique<Job>();
  fresh->id = event.job;
  fresh->queue = &need_queue(event.queue);
  fresh->state = event.state;
  fresh->priority = event.priority;
  fresh->max_attempts = event.max_attempts;
  fresh->order = stamp.sequence;
  fresh->created_ms = stamp.time_ms;
  fresh->enqueued_ms = event.state == JobState::Available ? stamp.time_ms : 0;
  fresh->scheduled_ms = event.scheduled_ms;
  fresh->expires_ms = event.expires_ms;
  fresh->unique_key = event.unique_key;
  fresh->limit = event.limit;
  fresh->spec = event.spec;
  fresh->parent = event.parent;
  fresh->placed_by = event.placed_by;
  fresh->home = event.home;
  Job& job = memory_->jobs.insert(std::move(fresh));
  changed(job, stamp);
  place(job);
  if (!job.unique_key.empty()) memory_->unique_in_memory.emplace(job.unique_key, &job);
  if (job.state == JobState::Available && !event.elsewhere) wake(*job.queue);
}

void MutableState::apply(const JobPromoted& event, Stamp stamp) {
  count_move(event, JobState::Available, stamp);
  Job* job = job_for(event, stamp);
  if (job == nullptr) return;
  unplace(*job);
  job->state = JobState::Available;
  job->order = stamp.sequence;
  job->enqueued_ms = stamp.time_ms;
  place(*job);
  wake(*job->queue);
}

void MutableState::apply(const JobLeased& event, Stamp stamp) {
  Queue* queue = count_move(event, JobState::Active, stamp);
  if (queue != nullptr && queue->settings.rate_per_second != 0)
    use_rate(queue->rate_window_ms, queue->rate_used, kRateWindowMs, stamp.time_ms);
  Job* job = job_for(event, stamp);
  if (job == nullptr) return;
  unplace(*job);
  job->state = JobState::Active;
  job->attempt = event.attempt;
  job->worker = event.worker;
  job->started_ms = stamp.time_ms;
  job->lease_until_ms = event.lease_until_ms;
  job->deadline_ms = event.deadline_ms;
  place(*job);
}

void MutableState::apply(const LeaseExtended& event, Stamp stamp) {
  Job* job = job_for(event, stamp);
  if (job == nullptr) return;
  unplace(*job);
  job->lease_until_ms = event.lease_until_ms;
  place(*job);
}

void MutableState::apply(const JobCompleted& event, Stamp stamp) {
  count_move(event, JobState::Completed, stamp);
  Job* job = job_for(event, stamp);
  if (job == nullptr) return;
  unplace(*job);
  job->state = JobState::Completed;
  job->finished_ms = stamp.time_ms;
  job->result = event.result;
  end_lease(*job);
}

void MutableState::apply(const JobFailed& event, Stamp stamp) {
  Queue* queue = count_move(event, event.to, stamp);
  if (queue != nullptr && event.dead_letter) ++queue->dead;
  Job* job = job_for(event, stamp);
  if (job == nullptr) return;
  unplace(*job);
  JobExtras& extras = job->need_extras();
  extras.errors.push_back(event.error);
  if (extras.errors.size() > kErrorsKept) extras.errors.erase(extras.errors.begin());
  extras.retry_delay_ms = event.retry_delay_ms;
  job->state = event.to;
  job->scheduled_ms = event.retry_at_ms;
  if (event.to == JobState::Discarded) job->finished_ms = stamp.time_ms;
  job->dead_letter = event.dead_letter;
  end_lease(*job);
  place(*job);
}

void MutableState::apply(const JobRequeued& event, Stamp stamp) {
  bool changed_by_hand = event.reason == RequeueReason::Changed;
  JobState to = changed_by_hand ? event.to : JobState::Available;
  count_move(event, to, stamp);
  Job* job = job_for(event, stamp);
  if (job == nullptr) return;
  unplace(*job);
  if (changed_by_hand) take_change(*job, event, stamp);
  job->state = to;
  end_lease(*job);
  place(*job);
  if (to == JobState::Available) wake(*job->queue);
}

void MutableState::apply(const JobCancelled& event, Stamp stamp) {
  count_move(event, JobState::Cancelled, stamp);
  Job* job = job_for(event, stamp);
  if (job == nullptr) return;
  unplace(*job);
  job->state = JobState::Cancelled;
  job->finished_ms = stamp.time_ms;
  if (!event.reason.empty()) job->need_extras().cancel_reason = event.reason;
  if (event.was_held || (job->extras && job->extras->cancelled_while_held)) {
    JobExtras& extras = job->need_extras();
    extras.cancelled_while_held = event.was_held;
    extras.cancelled_worker = event.was_held ? job->worker : "";
  }
  end_lease(*job);
}

void MutableState::apply(const JobExpired& event, Stamp stamp) {
  count_move(event, JobState::Discarded, stamp);
  Job* job = job_for(event, stamp);
  if (job == nullptr) return;
  unplace(*job);
  job->state = JobState::Discarded;
  job->expired = true;
  job->finished_ms = stamp.time_ms;
}

void MutableState::apply(const JobRevived& event, Stamp stamp) {
  Queue* queue = count_move(event, JobState::Available, stamp);
  if (queue != nullptr && event.was_dead_letter) --queue->dead;
  Job* job = job_for(event, stamp);
  if (job == nullptr) return;
  unplace(*job);
  job->state = JobState::Available;
  job->attempt = 0;
  job->order = stamp.sequence;
  job->enqueued_ms = stamp.time_ms;
  job->expires_ms = 0;
  job->finished_ms = 0;
  job->expired = false;
  job->dead_letter = false;
  place(*job);
  if (!event.elsewhere) wake(*job->queue);
}

void MutableState::apply(const JobsForgotten& event, Stamp stamp) {
  for (const JobId& id : event.jobs) {
    Job* job = resident_job(id);
    if (job == nullptr || job->forgotten || job->version >= stamp.sequence) continue;
    changed(*job, stamp);
    unplace(*job);
    job->forgotten = true;
    auto [from, to] = memory_->unique_in_memory.equal_range(job->unique_key);
    for (auto at = from; at != to; ++at) {
      if (at->second != job) continue;
      memory_->unique_in_memory.erase(at);
      break;
    }
  }
  if (event.elsewhere) return;
  if (Queue* queue = queue_for(event.queue, stamp)) {
    queue->dead -= event.dead;
    queue->forgotten += event.jobs.size();
  }
}

void MutableState::apply(const CheckpointSaved& event, Stamp stamp) {
  Job* job = job_for(event, stamp);
  if (job == nullptr) return;
  JobExtras& extras = job->need_extras();
  extras.checkpoint = event.state;
  extras.checkpoint_sequence = event.sequence;
  extras.checkpoint_ms = stamp.time_ms;
}

void MutableState::apply(const CheckpointDeleted& event, Stamp stamp) {
  Job* job = job_for(event, stamp);
  if (job == nullptr) return;
  JobExtras& extras = job->need_extras();
  extras.checkpoint.clear();
  extras.checkpoint_sequence = 0;
  extras.checkpoint_ms = 0;
}

void MutableState::apply(const ProgressReported& event, Stamp stamp) {
  Job* job = job_for(event, stamp);
  if (job == nullptr) return;
  JobExtras& extras = job->need_extras();
  extras.progress = event.progress;
  extras.progress_message = event.message;
  extras.progress_data = event.data;
  extras.progress_ms = stamp.time_ms;
}

}  // namespace pawl
