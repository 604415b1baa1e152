#include "kernel/fire_timers.h"

#include "base/working_on.h"
#include "kernel/compositions/run_flow.h"
#include "kernel/frame.h"
#include "kernel/jobs/finish_job.h"
#include "kernel/jobs/job.h"
#include "kernel/run_commands.h"
#include "kernel/scripts/admission.h"
#include "kernel/settings/cron_jobs.h"
#include "kernel/settings/doc.h"
#include "kernel/state.h"
#include "kernel/timer_key.h"

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
  static_cast<JobEventHead&>(event) = event_head(job);
  frame.emit(event);
}

void timer_due(Frame& frame, const TimerKey& timer) {
  WorkingOn working(timer.id);
  if (timer.kind == TimerKind::Run) return run_due(frame, RunId(timer.id));
  const Job* job = frame.state().find_job(JobId(timer.id));
  PAWL_CHECK(job != nullptr);
  job_due(frame, *job);
}

}  // namespace

bool fire_timers(Frame& frame, size_t max, bool leave_yielded) {
  const State& state = frame.state();
  for (size_t i = 0; i < max; ++i) {
    const TimerKey* timer = state.first_timer();
    const Cron* cron = state.first_cron();
    if (timer != nullptr && timer->due_ms <= frame.now_ms()) {
      timer_due(frame, *timer);
    } else if (cron != nullptr && cron->next_ms <= frame.now_ms()) {
      cron_due(frame, *cron);
    } else if (const Cron* waiting = state.cron_to_look_at()) {
      waiting_cron_due(frame, *waiting);
    } else if (const std::string* gate = state.gate_to_look_at()) {
      admit_next(frame, std::string(*gate));
    } else if (const RunId* yielded = leave_yielded || frame.meter().spent()
                                          ? nullptr
                                          : state.next_yielded(frame.now_ms())) {
      run_due(frame, RunId(*yielded));
    } else {
      return false;
    }
  }
  int64_t next =
      leave_yielded || frame.meter().spent() ? state.next_timer_ms() : state.next_due_ms();
  return next != 0 && next <= frame.now_ms();
}

}  // namespace pawl
