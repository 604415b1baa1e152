#include "kernel/jobs/job.h"

#include <algorithm>

#include "kernel/jobs/queue.h"

namespace pawl {
namespace {

int64_t earliest(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return std::max(a, b);
  return std::min(a, b);
}

// The row: every durable field of a Job, in the codec's form.
template <class JobType>  // Job, or const Job where it is only written
struct JobRow {
  JobType* job;
  std::string queue;
  JobExtras extras;

  static void fields(auto& self, auto&& visit) {
    JobType& job = *self.job;
    visit(1, "id", job.id);
    visit(2, "version", job.version);
    visit(3, "queue", self.queue);
    visit(4, "state", job.state);
    visit(5, "expired", job.expired);
    visit(6, "dead_letter", job.dead_letter);
    visit(7, "priority", job.priority);
    visit(8, "attempt", job.attempt);
    visit(9, "max_attempts", job.max_attempts);
    visit(10, "order", job.order);
    visit(11, "created_ms", job.created_ms);
    visit(12, "enqueued_ms", job.enqueued_ms);
    visit(13, "scheduled_ms", job.scheduled_ms);
    visit(14, "expires_ms", job.expires_ms);
    visit(15, "started_ms", job.started_ms);
    visit(16, "finished_ms", job.finished_ms);
    visit(17, "lease_until_ms", job.lease_until_ms);
    visit(18, "deadline_ms", job.deadline_ms);
    visit(19, "worker", job.worker);
    visit(20, "spec", job.spec);
    visit(21, "unique_key", job.unique_key);
    visit(22, "limit", job.limit);
    visit(23, "result", job.result);
    visit(24, "parent", job.parent);
    visit(25, "extras", self.extras);
    visit(26, "placed_by", job.placed_by);
    visit(27, "home", job.home);
  }
};

}  // namespace

JobSpecView Job::spec_view() const {
  JobSpecView view;
  PAWL_CHECK(codec::decode(spec, view));
  return view;
}

RetryPolicy Job::retry_policy() const {
  std::string_view bytes = spec_view().retry;
  if (bytes.empty()) return RetryPolicy::standard();
  RetryPolicy policy;
  PAWL_CHECK(codec::decode(bytes, policy));
  return policy;
}

JobPlaces Job::current_places() const {
  JobPlaces now;
  if (forgotten) return now;
  if (is_elsewhere()) {
    now.unique = !unique_key.empty();
    return now;
  }
  switch (state) {
    case JobState::Available:
      now.ready = true;
      now.priority = priority;
      now.order = order;
      now.due_ms = expires_ms;
      break;
    case JobState::Scheduled:
    case JobState::Retryable:
      now.due_ms = earliest(scheduled_ms, expires_ms);
      break;
    case JobState::Active:
      now.due_ms = earliest(lease_until_ms, deadline_ms);
      break;
    case JobState::Pending:
      now.due_ms = expires_ms;
      break;
    case JobState::Discarded:
      now.dead = dead_letter;
      break;
    case JobState::None:
    case JobState::Completed:
    case JobState::Cancelled:
      break;
  }
  now.unique = !unique_key.empty();
  return now;
}

std::string encode_job(const Job& job) {
  // fields() serves reading and writing alike, so it takes a mutable job; encoding changes nothing.
  JobRow<const Job> row{&job, job.queue->name, {}};
  if (job.extras) row.extras = *job.extras;
  return codec::encoded(row);
}

bool decode_job(std::string_view bytes, Job& job, std::string& queue_name) {
  JobRow<Job> row{&job, {}, {}};
  if (!codec::decode(bytes, row)) return false;
  queue_name = std::move(row.queue);
  if (!codec::encoded(row.extras).empty())
    job.extras = std::make_unique<JobExtras>(std::move(row.extras));
  return true;
}

}  // namespace pawl
