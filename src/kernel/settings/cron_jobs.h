// Crons: jobs, and runs of definitions, started by the clock. At most one start makes up for
// firings missed while the server was down or the cron paused.
//
// A cron has an expression in a time zone, an interval, or one instant. It starts a job or run in
// the frame of its CronFired event, so a crash loses both or none; a failed start is recorded too
// (CronSkipped) and shown on the cron until the next start.
#pragma once

#include "base/result.h"
#include "base/uuid.h"
#include "journal/events.h"

namespace pawl {

class Frame;
class State;
struct Cron;

// Schedules of the API and crons of the Open Job Spec have separate names: a schedule's key has a
// mark that no cron's name can contain.
constexpr char kScheduleMark = '\x02';
std::string schedule_key(std::string_view tenant, std::string_view name);
std::string_view schedule_name(std::string_view key);

// Creates or replaces. The caller has checked the expression and time zone; the result says whether
// the cron is new. InvalidContent if it is never due.
Result<bool> put_cron(Frame& frame, CronSpec cron);
Status delete_cron(Frame& frame, const std::string& name);
// A one-time cron that was due meanwhile fires right after the pause; a firing that waits for the
// end of the previous one is dropped.
Status pause_cron(Frame& frame, const std::string& name, bool paused);

// One of them is nil.
struct CronStarted {
  JobId job;
  RunId run;
};
// Starts it now, regardless of its schedule and of the previous run or job.
Result<CronStarted> start_cron(Frame& frame, const std::string& name);
// The same of a cron that starts jobs.
Result<JobId> trigger_cron(Frame& frame, const std::string& name);

void cron_due(Frame& frame, const Cron& cron);
// The run or job that a firing of this cron waits for has changed.
void waiting_cron_due(Frame& frame, const Cron& cron);

// Whether its last run or job is still active.
bool last_is_at_work(const State& state, const Cron& cron);

}  // namespace pawl
