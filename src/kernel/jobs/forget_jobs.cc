#include "kernel/jobs/forget_jobs.h"

#include <map>

#include "kernel/compositions/planned_runs.h"
#include "kernel/frame.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/queue.h"
#include "kernel/messages/placing.h"
#include "kernel/run.h"
#include "kernel/run_family.h"
#include "kernel/settings/doc.h"
#include "kernel/state.h"

namespace pawl {
namespace {

// Deletes the planned-run documents of this run and of nested runs that never started.
void forget_planned(Frame& frame, const RunId& id) {
  auto forget = [&](const RunId& planned) {
    std::string key = planned_run_key(planned);
    if (frame.state().find_doc(DocKind::PlannedRun, key) != nullptr)
      frame.emit(DocDeleted{DocKind::PlannedRun, key});
  };
  const Run& run = *frame.state().find_run(id);
  if (!run.parent.run.is_nil()) forget(id);
  each_never_started(frame.state(), run, forget);
}

}  // namespace

Forgotten forget_jobs(Frame& frame, const ForgetJobs& command) {
  std::map<std::string, JobsForgotten> by_queue;
  JobsForgotten elsewhere;
  Forgotten result;
  JobId stopped_at;
  JobId go_on = frame.state().each_job(command.from, false, command.scan_max, [&](const Job& job) {
    if (!job.parent.run.is_nil() && frame.state().find_run(job.parent.run) != nullptr) return true;
    if (!is_terminal(job.state) || job.finished_ms > command.finished_before_ms) return true;
    if (result.jobs == command.at_most) {
      stopped_at = job.id;
      return false;
    }
    ++result.jobs;
    if (job.is_elsewhere()) {
      elsewhere.elsewhere = true;
      elsewhere.jobs.push_back(job.id);
      return true;
    }
    JobsForgotten& event = by_queue[job.queue->name];
    event.queue = job.queue->name;
    event.jobs.push_back(job.id);
    event.dead += job.dead_letter ? 1 : 0;
    return true;
  });
  result.go_on = stopped_at.is_nil() ? go_on : stopped_at;
  for (const auto& [queue, event] : by_queue) frame.emit(event);
  if (!elsewhere.jobs.empty()) frame.emit(elsewhere);
  for (const JobId& id : elsewhere.jobs) forget_step_job(frame, id);
  return result;
}

uint64_t forget_runs(Frame& frame, int64_t finished_before_ms, size_t at_most, RunId& cursor) {
  std::vector<RunId> gone;
  cursor = frame.state().each_run(cursor, false, at_most * 4, [&](const Run& run) {
    bool over = !family_of(run).leaves_by_itself();
    for (const Run* around = &run; around != nullptr;
         around = around->parent.run.is_nil() ? nullptr
                                              : frame.state().find_run(around->parent.run)) {
      const bool outermost = around->parent.run.is_nil();
      over = over && is_terminal(around->state) &&
             (!outermost || around->finished_ms <= finished_before_ms);
    }
    if (over) gone.push_back(run.id);
    return gone.size() < at_most;
  });
  for (const RunId& id : gone) {
    forget_planned(frame, id);
    frame.emit(RunForgotten{id});
  }
  return gone.size();
}

uint64_t forget_documents(Frame& frame, DocKind kind, size_t at_most) {
  std::vector<std::string> keys;
  frame.state().each_doc(kind, "", at_most * 4, [&](const Doc& doc) {
    if (doc.expires_ms != 0 && doc.expires_ms <= frame.now_ms()) keys.push_back(doc.key);
    return keys.size() < at_most;
  });
  for (std::string& key : keys) frame.emit(DocDeleted{kind, std::move(key)});
  return keys.size();
}

}  // namespace pawl
