#include "kernel/cron_jobs.h"

#include "base/cron.h"
#include "base/tz.h"
#include "kernel/finish_job.h"
#include "kernel/push_jobs.h"

namespace pawl {
namespace {

// Zone rules are read from the system, as the program itself is; what they give is journaled, so a
// replay never asks them again.
int64_t next_run_ms(const CronSpec& cron, int64_t after_ms) {
  auto schedule = CronSchedule::parse(cron.expression);
  auto zone = TimeZone::find(cron.timezone);
  if (!schedule.ok() || !zone.ok()) return 0;
  return schedule->next_after(after_ms, **zone).value_or(0);
}

// A run missed by more than a moment moves the schedule on from now; otherwise the rhythm is kept.
int64_t next_after_due(const Cron& cron, int64_t now_ms) {
  int64_t next = next_run_ms(cron.spec, cron.next_ms);
  return next != 0 && next <= now_ms ? next_run_ms(cron.spec, now_ms) : next;
}

NewJob job_of(const CronSpec& cron) {
  NewJob job;
  PAWL_CHECK(codec::decode(cron.job, job));
  return job;
}

const Job* unfinished_run(const State& state, const Cron& cron) {
  const Job* last = cron.last_job.is_nil() ? nullptr : state.find_job(cron.last_job);
  return last != nullptr && !is_terminal(last->state) ? last : nullptr;
}

Result<JobId> push_run(Frame& frame, const std::string& name, const CronSpec& spec, int64_t due_ms,
                       int64_t next_ms) {
  PAWL_TRY(std::vector<Pushed> pushed, push_jobs(frame, {job_of(spec)}));
  CronFired event;
  event.name = name;
  event.job = pushed[0].id;
  event.due_ms = due_ms;
  event.next_ms = next_ms;
  frame.emit(event);
  return pushed[0].id;
}

}  // namespace

Result<bool> put_cron(Frame& frame, CronSpec cron) {
  const Cron* existing = frame.state().find_cron(cron.name);
  cron.created_ms = existing != nullptr ? existing->spec.created_ms : frame.now_ms();
  int64_t next_ms = next_run_ms(cron, frame.now_ms());
  if (next_ms == 0) return Error{ErrorCode::InvalidContent, "the cron expression never comes due"};
  bool created = existing == nullptr;
  frame.emit(CronPut{std::move(cron), next_ms});
  return created;
}

Status delete_cron(Frame& frame, const std::string& name) {
  if (frame.state().find_cron(name) == nullptr)
    return Error{ErrorCode::NotFound, "cron '" + name + "' not found"};
  frame.emit(CronDeleted{name});
  return ok_status();
}

Result<JobId> trigger_cron(Frame& frame, const std::string& name) {
  const Cron* cron = frame.state().find_cron(name);
  if (cron == nullptr) return Error{ErrorCode::NotFound, "cron '" + name + "' not found"};
  return push_run(frame, name, cron->spec, frame.now_ms(), cron->next_ms);
}

void cron_due(Frame& frame, const Cron& cron) {
  // The cron may be replaced while its job is pushed, so what is needed of it is copied first.
  CronSpec spec = cron.spec;
  int64_t due_ms = cron.next_ms;
  int64_t next_ms = next_after_due(cron, frame.now_ms());
  const Job* running = unfinished_run(frame.state(), cron);
  if (running != nullptr && spec.overlap == CronOverlap::Skip) {
    frame.emit(CronSkipped{spec.name, "the previous run has not finished", due_ms, next_ms});
    return;
  }
  if (running != nullptr && spec.overlap == CronOverlap::CancelPrevious)
    cancel_job(frame, *running, "the next run of its cron is due");
  auto pushed = push_run(frame, spec.name, spec, due_ms, next_ms);
  if (!pushed.ok()) frame.emit(CronSkipped{spec.name, pushed.error().message, due_ms, next_ms});
}

}  // namespace pawl
