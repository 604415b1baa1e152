#include "kernel/settings/cron_jobs.h"

#include "base/cron.h"
#include "base/hash.h"
#include "base/json_writer.h"
#include "base/tz.h"
#include "kernel/frame.h"
#include "kernel/jobs/finish_job.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/push_jobs.h"
#include "kernel/messages/placing.h"
#include "kernel/run.h"
#include "kernel/scripts/commands.h"
#include "kernel/settings/doc.h"
#include "kernel/state.h"
#include "plan/ojs/queue_name.h"

namespace pawl {
namespace {

constexpr const char* kStillAtWork = "the previous run has not finished";

// Zone rules are read from the system; the resulting times are journaled, so a replay does not need
// them.
int64_t next_by_expression(const CronSpec& cron, int64_t after_ms) {
  auto schedule = CronSchedule::parse(cron.expression);
  auto zone = TimeZone::find(cron.timezone);
  if (!schedule.ok() || !zone.ok()) return 0;
  return schedule->next_after(after_ms, **zone).value_or(0);
}

// Its first firing from now on; 0 = never.
int64_t first_planned_ms(const CronSpec& cron, int64_t now_ms) {
  if (cron.at_ms != 0) return cron.at_ms > now_ms ? cron.at_ms : 0;
  if (cron.every_ms != 0) return now_ms + cron.every_ms;
  return next_by_expression(cron, now_ms);
}

// After a firing missed by more than a moment the schedule continues from now; otherwise the rhythm
// is kept. An interval always keeps its rhythm.
int64_t planned_after(const Cron& cron, int64_t now_ms) {
  int64_t planned_ms = cron.planned_ms == 0 ? cron.next_ms : cron.planned_ms;
  if (cron.spec.at_ms != 0) return 0;
  if (int64_t every_ms = cron.spec.every_ms; every_ms != 0) {
    int64_t missed = planned_ms >= now_ms ? 0 : (now_ms - planned_ms) / every_ms;
    return planned_ms + (missed + 1) * every_ms;
  }
  int64_t next = next_by_expression(cron.spec, planned_ms);
  return next != 0 && next <= now_ms ? next_by_expression(cron.spec, now_ms) : next;
}

// The same name and time always give the same delay: a restart moves nothing.
int64_t with_jitter(const CronSpec& cron, int64_t planned_ms) {
  if (planned_ms == 0 || cron.jitter_ms == 0) return planned_ms;
  uint64_t chance = hash64(cron.name, static_cast<uint64_t>(planned_ms));
  return planned_ms + static_cast<int64_t>(chance % static_cast<uint64_t>(cron.jitter_ms + 1));
}

// The cron's next firing, as in its events.
struct Next {
  int64_t next_ms = 0;
  int64_t planned_ms = 0;
};
Next next_of(const CronSpec& cron, int64_t planned_ms) {
  return {with_jitter(cron, planned_ms), cron.jitter_ms == 0 ? 0 : planned_ms};
}
Next unchanged(const Cron& cron) { return {cron.next_ms, cron.planned_ms}; }

NewJob job_of(const CronSpec& cron) {
  NewJob job;
  PAWL_CHECK(codec::decode(cron.job, job));
  return job;
}

StartScript run_of(const CronSpec& cron, int64_t due_ms) {
  StartScript command;
  command.definition = cron.definition;
  command.version = cron.version;
  command.inputs = cron.inputs;
  command.tenant = tenant_of_scoped(cron.name);
  json::Writer w(command.meta);
  w.begin_object().field("schedule", schedule_name(cron.name));
  w.field_time("scheduled_for", due_ms).end_object();
  return command;
}

const Job* unfinished_job(const State& state, const Cron& cron) {
  const Job* last = cron.last_job.is_nil() ? nullptr : state.find_job(cron.last_job);
  return last != nullptr && !is_terminal(last->state) ? last : nullptr;
}

// At its home if that is another partition, as a member of a run: overlap looks at its end.
Result<JobId> fire(Frame& frame, const NewJob& job) {
  const State& state = frame.state();
  if (const uint16_t home = home_of_member(state, job); home != state.partition())
    return place_elsewhere(frame, job, home);
  PAWL_TRY(std::vector<Pushed> pushed, push_jobs(frame, {job}));
  return pushed[0].id;
}

Result<CronStarted> start(Frame& frame, const CronSpec& spec, int64_t due_ms, Next next,
                          bool waited) {
  CronStarted begun;
  if (spec.definition.empty()) {
    PAWL_TRY(begun.job, fire(frame, job_of(spec)));
  } else {
    PAWL_TRY(begun.run, start_script(frame, run_of(spec, due_ms)));
  }
  frame.emit(
      CronFired{spec.name, begun.job, due_ms, next.next_ms, begun.run, next.planned_ms, waited});
  return begun;
}

void start_or_say_why_not(Frame& frame, const CronSpec& spec, int64_t due_ms, Next next,
                          bool waited) {
  auto begun = start(frame, spec, due_ms, next, waited);
  if (!begun.ok())
    frame.emit(CronSkipped{spec.name, begun.error().message, due_ms, next.next_ms, CronMiss::Failed,
                           next.planned_ms, waited});
}

Error not_found(const std::string& name) {
  return {ErrorCode::NotFound, "cron '" + name + "' not found"};
}

}  // namespace

std::string schedule_key(std::string_view tenant, std::string_view name) {
  return scoped_queue(tenant, std::string(1, kScheduleMark).append(name));
}

std::string_view schedule_name(std::string_view key) {
  std::string_view name = queue_of_scoped(key);
  return name.substr(!name.empty() && name[0] == kScheduleMark ? 1 : 0);
}

bool last_is_at_work(const State& state, const Cron& cron) {
  if (unfinished_job(state, cron) != nullptr) return true;
  const Run* run = cron.last_run.is_nil() ? nullptr : state.find_run(cron.last_run);
  return run != nullptr && !is_terminal(run->state);
}

Result<bool> put_cron(Frame& frame, CronSpec cron) {
  const Cron* existing = frame.state().find_cron(cron.name);
  cron.created_ms = existing != nullptr ? existing->spec.created_ms : frame.now_ms();
  Next next = next_of(cron, first_planned_ms(cron, frame.now_ms()));
  if (next.next_ms == 0 && cron.at_ms != 0)
    return Error{ErrorCode::InvalidContent,
                 "the time has passed already",
                 {{"$.at", "has passed already", "value"}}};
  if (next.next_ms == 0)
    return Error{ErrorCode::InvalidContent,
                 "the cron expression never comes due",
                 {{"$.cron", "never comes due", "cron"}}};
  bool created = existing == nullptr;
  frame.emit(CronPut{std::move(cron), next.next_ms, next.planned_ms});
  return created;
}

Status delete_cron(Frame& frame, const std::string& name) {
  if (frame.state().find_cron(name) == nullptr) return not_found(name);
  frame.emit(CronDeleted{name});
  return ok_status();
}

Status pause_cron(Frame& frame, const std::string& name, bool paused) {
  const Cron* cron = frame.state().find_cron(name);
  if (cron == nullptr) return not_found(name);
  if (cron->spec.paused == paused) return ok_status();
  CronSpec spec = cron->spec;
  spec.paused = paused;
  Next next = next_of(spec, first_planned_ms(spec, frame.now_ms()));
  if (spec.at_ms != 0) next = unchanged(*cron);  // done already, or still to come
  frame.emit(CronPut{std::move(spec), next.next_ms, next.planned_ms});
  return ok_status();
}

Result<CronStarted> start_cron(Frame& frame, const std::string& name) {
  const Cron* cron = frame.state().find_cron(name);
  if (cron == nullptr) return not_found(name);
  return start(frame, CronSpec(cron->spec), frame.now_ms(), unchanged(*cron), false);
}

Result<JobId> trigger_cron(Frame& frame, const std::string& name) {
  PAWL_TRY(CronStarted begun, start_cron(frame, name));
  return begun.job;
}

void cron_due(Frame& frame, const Cron& cron) {
  // The cron may be replaced while its job is pushed, so what is needed of it is copied first.
  CronSpec spec = cron.spec;
  int64_t due_ms = cron.planned_ms == 0 ? cron.next_ms : cron.planned_ms;
  Next next = next_of(spec, planned_after(cron, frame.now_ms()));
  auto miss = [&](CronMiss why) {
    frame.emit(CronSkipped{spec.name, kStillAtWork, due_ms, next.next_ms, why, next.planned_ms});
  };
  if (spec.overlap != CronOverlap::Allow && spec.overlap != CronOverlap::Enqueue &&
      last_is_at_work(frame.state(), cron)) {
    if (spec.overlap == CronOverlap::Skip) return miss(CronMiss::Skipped);
    if (spec.overlap == CronOverlap::Queue)
      return miss(cron.waiting_ms == 0 ? CronMiss::Waits : CronMiss::Skipped);
    const Job* running = unfinished_job(frame.state(), cron);
    if (running != nullptr) cancel_job(frame, *running, "the next run of its cron is due");
  }
  start_or_say_why_not(frame, spec, due_ms, next, false);
}

void waiting_cron_due(Frame& frame, const Cron& cron) {
  if (last_is_at_work(frame.state(), cron)) return frame.note_cron_waits(cron);
  start_or_say_why_not(frame, CronSpec(cron.spec), cron.waiting_ms, unchanged(cron), true);
}

}  // namespace pawl
