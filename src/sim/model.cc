#include "sim/model.h"

#include <algorithm>
#include <utility>

namespace pawl::sim {
namespace {

// The lifecycle, as the specification lists it.
bool listed(JobState from, JobState to) {
  using S = JobState;
  switch (from) {
    case S::None:
      return to == S::Scheduled || to == S::Available || to == S::Pending;
    case S::Scheduled:
    case S::Pending:
    case S::Retryable:
      return to == S::Available || to == S::Cancelled || to == S::Discarded;
    case S::Available:
      return to == S::Active || to == S::Cancelled || to == S::Discarded;
    case S::Active:
      return to == S::Completed || to == S::Retryable || to == S::Discarded || to == S::Available ||
             to == S::Cancelled;
    case S::Discarded:
      return to == S::Available;
    case S::Cancelled:
      return to == S::Available;  // only by a retry of its run, which the revival checks
    case S::Completed:
      return false;
  }
  return false;
}

}  // namespace

bool ModelJob::finished() const {
  return state == JobState::Completed || state == JobState::Cancelled ||
         state == JobState::Discarded;
}

int64_t ModelJob::due_ms() const {
  if (forgotten || finished()) return 0;
  if (state == JobState::Active) return sooner(lease_until_ms, deadline_ms);
  if (state == JobState::Scheduled || state == JobState::Retryable)
    return sooner(scheduled_ms, expires_ms);
  return expires_ms;
}

const ModelPoint* ModelJob::point_at(uint64_t sequence) const {
  auto at = std::lower_bound(history.begin(), history.end(), sequence,
                             [](const ModelPoint& p, uint64_t s) { return p.sequence < s; });
  return at != history.end() && at->sequence == sequence ? &*at : nullptr;
}

const ModelJob* JournalModel::find(const JobId& id) const {
  auto at = jobs_.find(id);
  return at == jobs_.end() ? nullptr : &at->second;
}

const ModelJob* JournalModel::existing(const JobId& id) const {
  const ModelJob* job = find(id);
  return job != nullptr && !job->forgotten ? job : nullptr;
}

bool JournalModel::limit_allows(const ModelJob& job, int64_t now_ms) const {
  auto at = limits_.find(job.birth.limit);
  if (job.birth.limit.empty() || at == limits_.end()) return true;
  const ModelLimit& limit = at->second;
  if (limit.settings.concurrency != 0 && limit.active >= limit.settings.concurrency) return false;
  return limit.rate.allows(limit.settings.rate, limit.settings.period_ms, now_ms);
}

const ModelJob* JournalModel::fetchable(const std::string& name, int64_t now_ms) const {
  auto at = queues_.find(name);
  if (at == queues_.end() || at->second.settings.paused) return nullptr;
  if (!at->second.rate.allows(at->second.settings.rate_per_second, 1000, now_ms)) return nullptr;
  for (const ModelPlace& place : at->second.ready) {
    const ModelJob& job = jobs_.at(std::get<2>(place));
    if (limit_allows(job, now_ms)) return &job;
  }
  return nullptr;
}

uint64_t JournalModel::waiting(const std::string& queue) const {
  uint64_t count = 0;
  for (const auto& [id, job] : jobs_)
    if (job.birth.queue == queue && !job.forgotten && !job.finished() &&
        job.state != JobState::Active)
      ++count;
  return count;
}

int64_t JournalModel::first_due_ms() const {
  int64_t first = 0;
  for (const auto& [id, job] : jobs_) first = sooner(first, job.due_ms());
  return sooner(sooner(first, runs_.first_due_ms()), scripts_.first_due_ms());
}

size_t JournalModel::unfinished() const {
  size_t count = 0;
  for (const auto& [id, job] : jobs_)
    if (!job.forgotten && !job.finished()) ++count;
  return count + runs_.unfinished() + scripts_.unfinished();
}

void JournalModel::broken(std::string_view checker, const At& at, const JobId& job,
                          std::string_view what) {
  verdict_.fail(checker, "record " + std::to_string(journal::record_of(at.sequence)) + " event " +
                             std::to_string(journal::index_of(at.sequence)) + " job " +
                             short_name(job) + ": " + std::string(what));
}

void JournalModel::read_record(uint64_t number, std::string_view bytes,
                               FunctionRef<void(uint64_t)> after) {
  verdict_.expect(number == head_ + 1, "I1 order", "a record number was left out or used twice");
  head_ = number;
  auto events = journal::read_record(number, bytes);
  if (!events.ok()) return verdict_.fail("I1 record", events.error().message);
  At last{};
  for (const journal::EventBytes& event : *events) {
    if (event.first_of_frame && last.sequence != 0) frame_over(last);
    last = {event.sequence, event.time_ms};
    verdict_.expect(event.time_ms >= now_ms_, "I2 time", "the journal's time went back");
    now_ms_ = std::max(now_ms_, event.time_ms);
    ++events_;
    read_event(event);
    after(event.sequence);
  }
  if (last.sequence != 0) frame_over(last);
}

void JournalModel::frame_over(const At& at) {
  for (const std::string& key : std::exchange(new_keys_, {})) check_unique(key, at);
  runs_.frame_over(at.sequence);
  scripts_.frame_over(at);
}

void JournalModel::read_event(const journal::EventBytes& event) {
  At at{event.sequence, event.time_ms};
  switch (event.type) {
#define PAWL_EVENT(number, name)                                             \
  case EventType::name: {                                                    \
    name decoded;                                                            \
    if (!codec::decode(event.bytes, decoded))                                \
      return broken("I1 record", at, JobId(), "an event cannot be decoded"); \
    return happened(decoded, at);                                            \
  }
#include "journal/event_types.def"
#undef PAWL_EVENT
  }
  broken("I1 record", at, JobId(), "unknown event");
}

// --- what every job event must satisfy

uint32_t JournalModel::attempt_of(const JobId& id) const {
  const ModelJob* job = find(id);
  return job == nullptr ? 0 : job->attempt;
}

ModelJob* JournalModel::step(const JobEventHead& step, const At& at, uint32_t attempt_now) {
  auto found = jobs_.find(step.job);
  if (found == jobs_.end() || found->second.forgotten) {
    broken("I5 transition", at, step.job, "an event about a job that is not there");
    return nullptr;
  }
  ModelJob& job = found->second;
  if (step.from != job.state)
    broken("I5 transition", at, step.job, "the event names another state");
  if (step.attempt != attempt_now)
    broken("I6 lease", at, step.job, "the event names another attempt");
  if (step.queue != job.birth.queue || step.type != job.birth.type || step.limit != job.birth.limit)
    broken("I5 transition", at, step.job, "queue, type or limit are not the job's");
  return &job;
}

void JournalModel::note(ModelJob& job, const At& at) {
  job.history.push_back({at.sequence, job.state, job.attempt, job.worker});
}

void JournalModel::move(ModelJob& job, JobState to, const At& at) {
  if (!listed(job.state, to))
    broken("I5 transition", at, job.birth.job,
           "from " + std::to_string(static_cast<int>(job.state)) + " to " +
               std::to_string(static_cast<int>(to)) + " is not listed");
  ModelQueue& queue = queues_[job.birth.queue];
  if (job.state == JobState::Available) queue.ready.erase(job.place());
  if (!job.birth.limit.empty()) {
    ModelLimit& limit = limits_[job.birth.limit];
    if (job.state == JobState::Active) --limit.active;
    if (to == JobState::Active) ++limit.active;
  }
  if (job.state == JobState::Active) {
    job.worker.clear();
    job.lease_until_ms = job.deadline_ms = 0;
  }
  job.state = to;
  if (!job.birth.parent.run.is_nil()) runs_.job_moved(job.birth.parent);
}

// A request under a lease must still hold it: expired leases are processed before any input.
void JournalModel::check_lease_holds(const ModelJob& job, const At& at) {
  if (job.state != JobState::Active)
    broken("I6 lease", at, job.birth.job, "a lease acted on a job that is not active");
  if (job.lease_until_ms <= at.time_ms)
    broken("I6 lease", at, job.birth.job, "a lease acted after it had run out");
  if (job.deadline_ms != 0 && job.deadline_ms <= at.time_ms)
    broken("I6 lease", at, job.birth.job, "a lease acted after the job's timeout");
}

// Within a frame the new job may come before the end of the one that it replaces.
void JournalModel::check_unique(const std::string& key, const At& at) {
  if (revived_keys_.count(key) != 0) return;
  size_t unfinished = 0;
  for (const auto& [id, job] : jobs_)
    if (!job.forgotten && !job.finished() && job.birth.unique_key == key && ++unfinished > 1)
      return broken("unique", at, id, "two unfinished jobs have one unique key");
}

}  // namespace pawl::sim
