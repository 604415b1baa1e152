#include "kernel/jobs/push_jobs.h"

#include <map>
#include <set>

#include "base/partition.h"
#include "kernel/compositions/run_flow.h"
#include "kernel/frame.h"
#include "kernel/jobs/finish_job.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/job_copy.h"
#include "kernel/jobs/queue.h"
#include "kernel/messages/claims.h"
#include "kernel/messages/copied_settings.h"
#include "kernel/messages/placing.h"
#include "kernel/run.h"
#include "kernel/state.h"
#include "plan/ojs/job_spec.h"
#include "plan/ojs/queue_name.h"

namespace pawl {
namespace {

std::string at_index(size_t index, size_t count) {
  return count == 1 ? "" : "jobs[" + std::to_string(index) + "]: ";
}

uint32_t birth_state_bit(const NewJob& job, int64_t now_ms) {
  return 1u << static_cast<int>(birth_state(job, now_ms));
}

// What its home has answered; null if it was not asked, or has granted it.
const NameAnswer* refusal_in(const NameAnswers* answers, NameKind kind, std::string_view name) {
  const NameAnswer* answer = answers == nullptr ? nullptr : answers->find(kind, name);
  return answer == nullptr || answer->granted ? nullptr : answer;
}

// Everything that can refuse the list, before anything is written.
class Admission {
 public:
  Admission(const State& state, int64_t now_ms, size_t count, const NameAnswers* answers)
      : state_(state), now_ms_(now_ms), count_(count), answers_(answers) {}

  Status admit(const NewJob& job, size_t index) {
    PAWL_TRY_DO(check_id(job, index));
    PAWL_TRY_DO(check_unique(job, index));
    PAWL_TRY_DO(check_room(job, index));
    return ok_status();
  }

 private:
  Status check_id(const NewJob& job, size_t index) {
    if (job.id.is_nil()) return ok_status();
    if (!ids_.insert(job.id).second || is_known(job.id))
      return Error{ErrorCode::Duplicate, at_index(index, count_) + "a job with the id " +
                                             job.id.text() + " exists already"}
          .with("existing_job_id", job.id.text());
    return ok_status();
  }
  bool is_known(const JobId& id) const {
    return state_.find_job_here(id) != nullptr || is_taken_elsewhere(state_, id) ||
           refusal_in(answers_, NameKind::Id, id.bytes()) != nullptr;
  }
  Status check_unique(const NewJob& job, size_t index) {
    if (job.unique.key.empty()) return ok_status();
    bool conflict = (unique_births_[job.unique.key] & job.unique.states) != 0;
    unique_births_[job.unique.key] |= birth_state_bit(job, now_ms_);
    if (job.unique.on_conflict != OnConflict::Reject) return ok_status();
    const Job* existing = unique_conflict(state_, job.unique, now_ms_);
    const NameAnswer* told = refusal_in(answers_, NameKind::UniqueKey, job.unique.key);
    if (existing == nullptr && told == nullptr && !conflict) return ok_status();
    const Uuid id = existing != nullptr ? Uuid(existing->id)
                    : told != nullptr   ? told->existing
                                        : Uuid();
    std::string who = id.is_nil() ? "earlier in this request" : id.text();
    Error refusal{ErrorCode::Duplicate,
                  at_index(index, count_) + "a job with the same unique key exists: " + who};
    if (!id.is_nil()) refusal.details.emplace_back("existing_job_id", id.text());
    return refusal;
  }
  Status check_room(const NewJob& job, size_t index) {
    const Queue* queue = state_.find_queue(job.queue);
    if (queue == nullptr && new_queues_.insert(job.queue).second && !state_.has_room_for_queue())
      return Error{ErrorCode::Overloaded,
                   at_index(index, count_) + "the server has as many queues as it may hold"};
    if (!job.limit.empty() && state_.find_limit(job.limit) == nullptr &&
        !state_.has_room_for_limit())
      return Error{
          ErrorCode::Overloaded,
          at_index(index, count_) + "the server has as many rate limit keys as it may hold"};
    if (queue == nullptr || queue->settings.depth_max == 0) return ok_status();
    if (queue->depth() + ++added_[job.queue] > queue->settings.depth_max)
      return Error{ErrorCode::QueueFull, at_index(index, count_) + "queue '" +
                                             std::string(queue_of_scoped(job.queue)) +
                                             "' holds its maximum of " +
                                             std::to_string(queue->settings.depth_max) + " jobs"};
    return ok_status();
  }

  const State& state_;
  int64_t now_ms_;
  size_t count_;
  const NameAnswers* answers_;
  std::set<JobId> ids_;
  std::map<std::string, uint32_t> unique_births_;
  std::set<std::string> new_queues_;
  std::map<std::string, uint64_t> added_;
};

void configure_limits(Frame& frame, const NewJob& job) {
  const Queue* queue = frame.state().find_queue(job.queue);
  if (job.queue_rate != 0 &&
      (queue == nullptr || queue->settings.rate_per_second != job.queue_rate)) {
    QueueConfigured event;
    event.queue = job.queue;
    if (queue != nullptr) event.settings = queue->settings;
    event.paused_before = event.settings.paused;
    event.settings.rate_per_second = job.queue_rate;
    frame.emit(event);
    share_queue_rate(frame, event);
  }
  if (job.limit.empty()) return;
  const Limit* limit = frame.state().find_limit(job.limit);
  if (limit == nullptr || !(limit->settings == job.limit_settings))
    frame.emit(LimitConfigured{job.limit, job.limit_settings});
}

void create(Frame& frame, const NewJob& job, const JobId& id, int64_t scheduled_ms) {
  configure_limits(frame, job);
  JobCreated event;
  event.job = id;
  event.queue = job.queue;
  event.type = job.type;
  event.limit = job.limit;
  event.state = job.pending                     ? JobState::Pending
                : scheduled_ms > frame.now_ms() ? JobState::Scheduled
                                                : JobState::Available;
  event.priority = job.priority;
  event.max_attempts = job.max_attempts;
  event.scheduled_ms = scheduled_ms;
  event.expires_ms = job.expires_ms;
  event.unique_key = job.unique.key;
  event.spec = job.spec;
  event.parent = job.parent;
  event.placed_by = job.placed_by;
  frame.emit(event);
}

void cancel_replaced(Frame& frame, const Job& existing) {
  constexpr const char* kReason = "replaced by a newer unique job";
  if (existing.is_elsewhere()) cancel_elsewhere(frame, existing, kReason, false);
  JobCancelled event;
  static_cast<JobEventHead&>(event) = event_head(existing);
  event.reason = kReason;
  event.was_held = existing.state == JobState::Active;
  frame.emit(event);
}

Pushed place_pushed(Frame& frame, const NewJob& job, int64_t scheduled_ms, uint16_t home) {
  const JobId id = job.id.is_nil() ? JobId(at_partition(frame.fresh_id(), home)) : job.id;
  const State& state = frame.state();
  if (home == state.partition()) {
    if (!job.id.is_nil()) forget_noted(frame, id);
    create(frame, job, id, scheduled_ms);
    return {id, true, nullptr};
  }
  NewJob there = job;
  there.id = id;
  there.scheduled_ms = scheduled_ms;
  // Else its home was asked.
  if (!job.unique.key.empty() &&
      home_of(NameKind::UniqueKey, "", job.unique.key, state.partitions()) == state.partition())
    note_elsewhere(frame, there, home, job.unique.key, job.spec);
  hand_over(frame, there, home);
  return {id, true, copy_of(there, frame.now_ms())};
}

// Pushes an admitted job. Unique policies other than reject are applied here. The caller notifies
// the runs of replaced jobs once all jobs exist: a run's reaction may need the same place, key or
// id as one of them.
Pushed push(Frame& frame, const NewJob& job, std::vector<JobId>& replaced, uint16_t home,
            const NameAnswers* answers) {
  int64_t scheduled_ms = job.scheduled_ms;
  if (!job.unique.key.empty() && job.unique.on_conflict != OnConflict::Reject) {
    const NameAnswer* told =
        answers == nullptr ? nullptr : answers->find(NameKind::UniqueKey, job.unique.key);
    if (told != nullptr && !told->granted)
      return {JobId(told->existing), false, copy_of_row(told->row)};
    if (told != nullptr && told->scheduled_ms != 0) scheduled_ms = told->scheduled_ms;
    if (const Job* existing = unique_conflict(frame.state(), job.unique, frame.now_ms())) {
      if (job.unique.on_conflict == OnConflict::Ignore) return {existing->id, false, nullptr};
      if (job.unique.on_conflict == OnConflict::ReplaceExceptSchedule &&
          existing->state == JobState::Scheduled)
        scheduled_ms = existing->scheduled_ms;
      if (!is_terminal(existing->state)) {
        replaced.push_back(existing->id);
        cancel_replaced(frame, *existing);
      }
    }
  }
  return place_pushed(frame, job, scheduled_ms, home);
}

}  // namespace

const Job* unique_conflict(const State& state, const UniquePolicy& unique, int64_t now_ms) {
  const Job* conflict = nullptr;
  state.each_unique(unique.key, [&](const Job& job) {
    bool counts = (unique.states >> static_cast<int>(job.state) & 1) != 0;
    bool recent = unique.period_ms == 0 || now_ms - job.created_ms < unique.period_ms;
    if (counts && recent) conflict = &job;
    return conflict == nullptr;
  });
  return conflict;
}

void replace_job(Frame& frame, const JobId& id) {
  const Job* job = frame.state().find_job(id);
  if (is_terminal(job->state)) return;
  cancel_replaced(frame, *job);
  job_ended(frame, id);
}

const Job& pushed_job(const State& state, const Pushed& pushed) {
  return pushed.elsewhere ? pushed.elsewhere->job : *state.find_job(pushed.id);
}

Result<std::vector<Pushed>> push_jobs(Frame& frame, const std::vector<NewJob>& jobs,
                                      const NameAnswers* answers) {
  Admission admission(frame.state(), frame.now_ms(), jobs.size(), answers);
  for (size_t i = 0; i < jobs.size(); ++i) PAWL_TRY_DO(admission.admit(jobs[i], i));
  std::vector<Pushed> pushed;
  pushed.reserve(jobs.size());
  std::vector<JobId> replaced;
  for (const NewJob& job : jobs)
    pushed.push_back(push(frame, job, replaced, home_of_job(frame.state(), job), answers));
  for (const JobId& id : replaced) job_ended(frame, id);
  return pushed;
}

Result<JobId> place_member(Frame& frame, const NewJob& job) {
  const uint16_t home = home_of_member(frame.state(), job);
  return home == frame.state().partition() ? place_job(frame, job)
                                           : place_elsewhere(frame, job, home);
}

Result<JobId> place_job(Frame& frame, const NewJob& job) {
  if (!job.id.is_nil() && frame.state().find_job(job.id) != nullptr)
    return Error{ErrorCode::Duplicate, "a job with the id " + job.id.text() + " exists already"};
  bool picky =
      job.unique.on_conflict == OnConflict::Reject || job.unique.on_conflict == OnConflict::Ignore;
  if (!job.unique.key.empty() && picky) {
    const Job* existing = unique_conflict(frame.state(), job.unique, frame.now_ms());
    if (existing != nullptr)
      return Error{ErrorCode::Duplicate,
                   "a job with the same unique key exists: " + existing->id.text()};
  }
  std::vector<JobId> replaced;
  JobId id = push(frame, job, replaced, frame.state().partition(), nullptr).id;
  for (const JobId& each : replaced) job_ended(frame, each);
  return id;
}

}  // namespace pawl
