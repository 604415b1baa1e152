#include "kernel/jobs/fetch_jobs.h"

#include <algorithm>
#include <set>

#include "base/json_writer.h"
#include "kernel/compositions/run_flow.h"
#include "kernel/frame.h"
#include "kernel/id_table.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/queue.h"
#include "kernel/messages/claims.h"
#include "kernel/messages/placing.h"
#include "kernel/state.h"

namespace pawl {
namespace {

// Jobs held back by their concurrency key that one fetch skips before it gives up on a queue.
constexpr size_t kHeldBackMax = 4096;
// Bound of the arguments in one reply: a fetch ends with the job that exceeds it.
constexpr size_t kFetchBytesMax = 16u << 20;

bool is_full(const Fetched& fetched, const FetchJobs& command) {
  return fetched.jobs.size() >= command.count || fetched.bytes >= kFetchBytesMax;
}

void wait_until(Fetched& fetched, int64_t at_ms) {
  if (fetched.retry_at_ms == 0 || at_ms < fetched.retry_at_ms) fetched.retry_at_ms = at_ms;
}

// Leases that the queue's own rate allows now.
uint32_t rate_left(const Queue& queue, int64_t now_ms) {
  if (queue.settings.rate_per_second == 0) return UINT32_MAX;
  if (now_ms - queue.rate_window_ms >= kRateWindowMs) return queue.settings.rate_per_second;
  return queue.settings.rate_per_second - std::min(queue.rate_used, queue.settings.rate_per_second);
}

// Whether the job's concurrency key has room; for an exhausted rate, notes when it will.
bool limit_allows(Frame& frame, const Job& job, Fetched& fetched) {
  if (job.limit.empty()) return true;
  const Limit* limit = frame.state().find_limit(job.limit);
  if (limit == nullptr) return true;
  if (limit->settings.concurrency != 0 && limit->active >= limit->settings.concurrency) {
    frame.note_held_back(*job.queue, *limit);
    return false;
  }
  if (limit->settings.rate == 0 || frame.now_ms() - limit->window_ms >= limit->settings.period_ms)
    return true;
  if (limit->used < limit->settings.rate) return true;
  frame.note_held_back(*job.queue, *limit);  // its settings may change before the period ends
  wait_until(fetched, limit->window_ms + limit->settings.period_ms);
  return false;
}

void lease(Frame& frame, const Job& job, const FetchJobs& command) {
  JobLeased event;
  static_cast<JobEventHead&>(event) = event_head(job);
  event.attempt = job.attempt + 1;
  event.worker = command.worker;
  event.lease_until_ms =
      frame.now_ms() + lease_ms(job, command.visibility_ms, command.visibility_default_ms);
  int64_t timeout_ms = job.spec_view().timeout_ms;
  event.deadline_ms = timeout_ms == 0 ? 0 : frame.now_ms() + timeout_ms;
  frame.emit(event);
  if (job.attempt == 1) tell_unique_home(frame, job);
  if (job.placed_by != 0) return tell_began(frame, job);
  if (!job.parent.run.is_nil()) job_began(frame, event.job);
}

void fetch_from(Frame& frame, const Queue& queue, const FetchJobs& command, Fetched& fetched) {
  const State& state = frame.state();
  uint32_t left = rate_left(queue, frame.now_ms());
  size_t held_back = 0;
  const ReadyKey* next = state.first_ready(queue);
  while (next != nullptr && !is_full(fetched, command)) {
    if (left == 0) return wait_until(fetched, queue.rate_window_ms + kRateWindowMs);
    ReadyKey key = *next;
    const Job* job = state.find_job(key.job);
    PAWL_CHECK(job != nullptr &&
               job->state == JobState::Available);  // I6: only a waiting job can be leased
    if (!limit_allows(frame, *job, fetched)) {
      if (++held_back > kHeldBackMax) return;
      next = state.next_ready(queue, key);
      continue;
    }
    lease(frame, *job, command);
    fetched.jobs.push_back(key.job);
    fetched.bytes += job->weight_bytes();
    --left;
    next = held_back == 0 ? state.first_ready(queue) : state.next_ready(queue, key);
  }
}

}  // namespace

int64_t lease_ms(const Job& job, int64_t asked_ms, int64_t default_ms) {
  if (asked_ms > 0) return asked_ms;
  int64_t own = job.spec_view().visibility_ms;
  return own > 0 ? own : default_ms;
}

Fetched fetch_jobs(Frame& frame, const FetchJobs& command) {
  Fetched fetched;
  for (const std::string& name : command.queues) {
    if (is_full(fetched, command)) break;
    const Queue* queue = frame.state().find_queue(name);
    if (queue != nullptr && !queue->settings.paused) fetch_from(frame, *queue, command, fetched);
  }
  return fetched;
}

}  // namespace pawl
