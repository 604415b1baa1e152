#include "api/explain.h"

#include "api/run_view.h"
#include "base/json_writer.h"
#include "base/quote.h"
#include "base/time.h"
#include "kernel/compositions/run_values.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/queue.h"
#include "kernel/quarantine.h"
#include "kernel/run.h"
#include "kernel/state.h"
#include "plan/ojs/job_spec.h"
#include "plan/ojs/plan_node.h"
#include "plan/ojs/queue_name.h"

namespace pawl::api {
namespace {

constexpr int64_t kRateWindowMs = 1000;
constexpr int64_t kWorkerFreshMs = 90'000;  // a parked fetch asks again at least once a minute

std::string named(const Queue& queue) { return in_quotes(queue_of_scoped(queue.name)); }

}  // namespace

std::string step_id_of(const State& state, const Run& run, uint32_t index) {
  PlanNode node;
  if (run.kind == RunKind::Dag && state.held_plan(run, index, node) && !node.name.empty())
    return node.name;
  return std::to_string(index);
}

Explanation Explainer::run(const Run& run) {
  if (!is_terminal(run.state)) {
    view_of(run).explain(*this, run, "", 0);
  } else if (is_quarantined(run)) {
    ++out_.waits_total;
    Wait wait;
    wait.reason = "quarantined";
    wait.since_ms = run.finished_ms;
    wait.detail =
        quarantine_message(run) + "; POST /v1/runs/" + run.id.text() + "/release tries it again";
    out_.waits.push_back(std::move(wait));
  }
  return std::move(out_);
}

Explanation Explainer::job(const Job& job) {
  add_job(job, "");
  return std::move(out_);
}

// --- runs

void Explainer::add_composition(const Run& run, const std::string& prefix, size_t depth) {
  if (depth > kNestedShownMax) return;
  for (uint32_t i = 0; i < run.total; ++i) {
    if (run.child(i) == ChildState::Started) {
      add_child(run, i, prefix, depth);
    } else if (run.child(i) == ChildState::Waiting) {
      add_next(run, i, prefix);
    }
  }
  add_callbacks(run, prefix);
}

void Explainer::add_child(const Run& run, uint32_t index, const std::string& prefix, size_t depth) {
  // Past the bound children are counted without being read; some nested runs are still visited.
  bool may_nest = run.job_count != run.total || run.kind == RunKind::Chain;
  if (full() && (!may_nest || children_left_ == 0)) {
    ++out_.waits_total;
    return;
  }
  if (full()) --children_left_;
  Uuid id = child_of(state_, run, index);
  std::string step_id = prefix + step_id_of(state_, run, index);
  if (const Job* job = state_.find_job(JobId(id))) return add_job(*job, step_id);
  if (const Run* nested = state_.find_run(RunId(id)))
    add_composition(*nested, step_id + ".", depth + 1);
}

void Explainer::add_callbacks(const Run& run, const std::string& prefix) {
  uint32_t open = run.callbacks_fired & ~run.callbacks_done;
  for (size_t i = 0; i < kCallbackRoles; ++i) {
    if ((open >> i & 1) == 0) continue;
    auto role = static_cast<CallbackRole>(i);
    JobId id(child_of(state_, run, callback_index(role, run.generation)));
    if (const Job* job = state_.find_job(id)) add_job(*job, prefix + std::string(role_name(role)));
  }
}

void Explainer::add_next(const Run& run, uint32_t index, const std::string& prefix) {
  if (++out_.next_total > kWaitsShownMax) return;
  NextStep next;
  next.step_id = prefix + step_id_of(state_, run, index);
  PlanNode node;
  if (state_.held_plan(run, index, node)) {
    NewJob job;
    next.type = node.kind == NodeKind::Run     ? std::string(kind_name(node.run_kind))
                : codec::decode(node.job, job) ? job.type
                                               : "";
  }
  if (run.kind == RunKind::Chain) next.after = prefix + std::to_string(index - 1);
  if (run.kind == RunKind::Map)
    next.after = "an earlier item: concurrency " + std::to_string(run.concurrency);
  for (uint32_t dependency : node.depends_on) {
    if (run.child(dependency) == ChildState::Completed ||
        run.child(dependency) == ChildState::Skipped)
      continue;
    next.after += (next.after.empty() ? "" : ", ") + prefix + step_id_of(state_, run, dependency);
    if (next.after.size() > 500) break;
  }
  out_.next.push_back(std::move(next));
}

// --- jobs

void Explainer::add_job(const Job& job, const std::string& step_id) {
  if (is_terminal(job.state)) return;
  if (++out_.waits_total > kWaitsShownMax) return;
  Wait wait;
  wait.step_id = step_id;
  wait.job = job.id;
  wait.queue = queue_of_scoped(job.queue->name);
  switch (job.state) {
    case JobState::Scheduled:
      wait.reason = "scheduled";
      wait.since_ms = job.created_ms;
      wait.until_ms = job.scheduled_ms;
      wait.detail = "is not to start before " + format_rfc3339_ms(job.scheduled_ms);
      break;
    case JobState::Retryable: {
      wait.reason = "retry";
      bool has_error = job.extras && !job.extras->errors.empty();
      wait.since_ms = has_error ? job.extras->errors.back().at_ms : job.started_ms;
      wait.until_ms = job.scheduled_ms;
      wait.detail =
          "attempt " + std::to_string(job.attempt) + " of " + std::to_string(job.max_attempts) +
          " failed" +
          (has_error ? " (" + job.extras->errors.back().message.substr(0, 200) + ")" : "") +
          "; the next one comes at " + format_rfc3339_ms(job.scheduled_ms);
      break;
    }
    case JobState::Pending:
      wait.reason = "activation";
      wait.since_ms = job.created_ms;
      wait.detail = "waits until somebody activates it";
      break;
    case JobState::Active:
      wait.reason = "lease";
      wait.since_ms = job.started_ms;
      wait.until_ms = job.lease_until_ms;
      wait.worker = job.worker;
      wait.detail = (job.worker.empty() ? "a worker" : "worker " + in_quotes(job.worker)) +
                    " is at work on attempt " + std::to_string(job.attempt) +
                    "; its lease ends at " + format_rfc3339_ms(job.lease_until_ms) +
                    " unless it is renewed";
      break;
    case JobState::Available:
      explain_available(job, wait);
      break;
    case JobState::None:
    case JobState::Completed:
    case JobState::Cancelled:
    case JobState::Discarded:
      return;
  }
  out_.waits.push_back(std::move(wait));
}

void Explainer::explain_available(const Job& job, Wait& wait) {
  const Queue& queue = *job.queue;
  wait.since_ms = job.enqueued_ms != 0 ? job.enqueued_ms : job.created_ms;
  wait.worker_asked_ms = workers_.queue_last_asked_ms(queue.name);
  wait.jobs_ahead = jobs_ahead(job);
  if (queue.settings.paused) {
    wait.reason = "queue_paused";
    wait.detail = "queue " + named(queue) + " is paused; resume it to go on";
    return;
  }
  if (held_by_limit(job, wait)) return;
  int64_t rate_ends_ms = queue.rate_window_ms + kRateWindowMs;
  if (queue.settings.rate_per_second != 0 && now_ms_ < rate_ends_ms &&
      queue.rate_used >= queue.settings.rate_per_second) {
    wait.reason = "rate_limit";
    wait.until_ms = rate_ends_ms;
    wait.detail = "queue " + named(queue) + " hands out " +
                  std::to_string(queue.settings.rate_per_second) + " jobs a second at most";
    return;
  }
  wait.reason = "worker";
  wait.detail = "waits for a worker on queue " + named(queue);
  if (wait.jobs_ahead > 0)
    wait.detail += " behind " + std::to_string(wait.jobs_ahead) +
                   (wait.jobs_ahead == 1 ? " other job" : " other jobs");
  if (wait.worker_asked_ms == 0) {
    wait.detail += "; none has asked since the server started";
  } else if (now_ms_ - wait.worker_asked_ms > kWorkerFreshMs) {
    wait.detail += "; none has asked since " + format_rfc3339_ms(wait.worker_asked_ms);
  } else {
    wait.detail +=
        "; workers are there, the last asked at " + format_rfc3339_ms(wait.worker_asked_ms);
  }
}

bool Explainer::held_by_limit(const Job& job, Wait& wait) const {
  const Limit* limit = job.limit.empty() ? nullptr : state_.find_limit(job.limit);
  if (limit == nullptr) return false;
  std::string name = in_quotes(queue_of_scoped(limit->key));
  if (limit->settings.concurrency != 0 && limit->active >= limit->settings.concurrency) {
    wait.reason = "concurrency";
    wait.detail = std::to_string(limit->active) + " of the " +
                  std::to_string(limit->settings.concurrency) + " that the concurrency key " +
                  name + " allows are at work";
  } else if (int64_t ends_ms = limit->window_ms + limit->settings.period_ms;
             limit->settings.rate != 0 && now_ms_ < ends_ms &&
             limit->used >= limit->settings.rate) {
    wait.reason = "rate_limit";
    wait.until_ms = ends_ms;
    wait.detail = "the key " + name + " has used its " + std::to_string(limit->settings.rate) +
                  " starts of this period";
  } else {
    return false;
  }
  wait.key = queue_of_scoped(limit->key);
  return true;
}

// How many jobs a worker would take first; -1 if counting costs too much.
int64_t Explainer::jobs_ahead(const Job& job) {
  int64_t ahead = 0;
  const ReadyKey* key = state_.first_ready(*job.queue);
  for (; key != nullptr && key->job != job.id; ++ahead) {
    if (walk_left_ == 0) return -1;
    --walk_left_;
    key = state_.next_ready(*job.queue, ReadyKey(*key));
  }
  return key == nullptr ? -1 : ahead;
}

}  // namespace pawl::api
