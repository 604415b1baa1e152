#include "wire/workflow_metadata.h"

#include "kernel/compositions/run_values.h"
#include "kernel/jobs/job.h"
#include "kernel/run.h"
#include "kernel/state.h"

namespace pawl {
namespace {

struct Totals {
  uint64_t completed = 0;  // jobs of the whole tree
  uint64_t failed = 0;
};

// Walks the tree below once: counts its jobs and collects failures.
void collect(const State& state, const Run& run, Totals& totals,
             std::vector<std::pair<const Job*, uint32_t>>& failed) {
  for (uint32_t i = 0; i < run.total; ++i) {
    ChildState child = run.child(i);
    if (child == ChildState::Waiting) continue;
    Uuid id = child_of(state, run, i);
    const Run* nested = run.job_count != run.total || run.kind == RunKind::Chain
                            ? state.find_run(RunId(id))
                            : nullptr;
    if (nested != nullptr) {
      collect(state, *nested, totals, failed);
      continue;
    }
    totals.completed += child == ChildState::Completed ? 1 : 0;
    totals.failed += child == ChildState::Failed ? 1 : 0;
    if (child == ChildState::Failed && failed.size() < 1000)
      failed.emplace_back(state.find_job(JobId(id)), i);
  }
}

void render_errors(json::Writer& w, const State& state, const Run& run,
                   const std::vector<std::pair<const Job*, uint32_t>>& failed) {
  if (run.kind == RunKind::Chain && run.failed > 0) {
    for (uint32_t i = 0; i < run.total; ++i)
      if (run.child(i) == ChildState::Failed) w.field_int("failed_step_index", i);
  }
  std::vector<const Job*> jobs;
  for (const auto& [job, index] : failed)
    if (job != nullptr) jobs.push_back(job);
  for (size_t role = 0; role < kCallbackRoles; ++role) {
    if ((run.callbacks_failed >> role & 1) == 0) continue;
    w.field("failed_callback", role_name(static_cast<CallbackRole>(role)));
    const Job* job = state.find_job(JobId(
        child_of(state, run, callback_index(static_cast<CallbackRole>(role), run.generation))));
    if (job != nullptr) jobs.push_back(job);
  }
  if (jobs.empty()) return;
  w.key("failed_job_ids").begin_array();
  for (const Job* job : jobs) w.uuid(job->id);
  w.end_array().key("errors").begin_array();
  for (const Job* job : jobs) {
    w.begin_object().key("job_id").uuid(job->id);
    if (job->state == JobState::Cancelled || job->expired || !job->extras ||
        job->extras->errors.empty()) {
      w.field("code", job->expired ? "expired" : "cancelled")
          .field("message", job->expired ? "the job expired before a worker took it"
                                         : "the job was cancelled");
      w.field_int("attempt", job->attempt);
    } else {
      const JobError& error = job->extras->errors.back();
      w.field("code", error.code)
          .field("message", error.message)
          .field_int("attempt", error.attempt);
    }
    if (is_callback(index_of(job->parent.place)))
      w.field("callback", role_name(callback_role(index_of(job->parent.place))));
    w.end_object();
  }
  w.end_array();
}

}  // namespace

void render_metadata(json::Writer& w, const State& state, const Run& run) {
  Totals totals;
  std::vector<std::pair<const Job*, uint32_t>> failed;
  collect(state, run, totals, failed);
  w.key("metadata").begin_object().field_time("created_at", run.created_ms);
  w.field_time_if_set("started_at", run.started_ms);
  if (is_terminal(run.state)) {
    w.field_time("completed_at", run.finished_ms);
    if (run.state == RunState::Cancelled) w.field_time("cancelled_at", run.finished_ms);
  }
  w.field_int("job_count", run.job_count).field_int("completed_count", totals.completed);
  w.field_int("failed_count", totals.failed);
  if (run.generation > 0) w.field_int("retries", run.generation);
  if (!run.reason.empty()) w.field("reason", run.reason);
  render_errors(w, state, run, failed);
  w.end_object();
}

}  // namespace pawl
