#include "kernel/fire_timers.h"

#include "kernel/cron_jobs.h"
#include "kernel/finish_job.h"
#include "kernel/run_flow.h"

namespace pawl {
namespace {

bool reached(int64_t at_ms, int64_t now_ms) { return at_ms != 0 && at_ms <= now_ms; }

void job_due(Frame& frame, const Job& job) {
  int64_t now_ms = frame.now_ms();
  if (job.state == JobState::Active) {
    bool timed_out = reached(job.deadline_ms, now_ms) &&
                     (job.lease_until_ms == 0 || job.deadline_ms <= job.lease_until_ms);
    return timed_out ? fail_by_timeout(frame, job) : expire_lease(frame, job);
  }
  if (reached(job.expires_ms, now_ms)) return expire_job(frame, job);
  JobPromoted event;
  static_cast<JobStep&>(event) = step_of(job);
  frame.emit(event);
}

}  // namespace

bool fire_timers(Frame& frame, size_t max) {
  for (size_t i = 0; i < max; ++i) {
    const TimerKey* timer = frame.state().first_timer();
    if (timer != nullptr && timer->due_ms <= frame.now_ms()) {
      if (timer->kind == TimerKind::Run) {
        run_due(frame, RunId(timer->id));
        if (frame.state().cold_failed()) return false;
        continue;
      }
      const Job* job = frame.state().find_job(JobId(timer->id));
      if (frame.state().cold_failed()) return false;
      PAWL_CHECK(job != nullptr);
      job_due(frame, *job);
      continue;
    }
    const Cron* cron = frame.state().first_cron();
    if (cron == nullptr || cron->next_ms > frame.now_ms()) return false;
    cron_due(frame, *cron);
  }
  int64_t next = frame.state().next_due_ms();
  return next != 0 && next <= frame.now_ms();
}

}  // namespace pawl
