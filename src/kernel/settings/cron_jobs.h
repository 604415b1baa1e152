// Crons: jobs, and runs of definitions, started by the clock. What was missed while the server was
// down, or while a cron was paused, is made up for by one start at most.
//
// A cron has an expression in a time zone, an interval, or one instant. What it starts is begun in
// the frame that says so (CronFired), so a crash loses both or none; what cannot be started is said
// too (CronSkipped) and stands on the cron until the next start.
#pragma once

#include "kernel/frame.h"

namespace pawl {

// Schedules of the API and crons of the Open Job Spec have names of their own each: a schedule's
// key carries a mark that no cron's name can have.
constexpr char kScheduleMark = '\x02';
std::string schedule_key(std::string_view tenant, std::string_view name);
std::string_view schedule_name(std::string_view key);

// Creates or replaces. The expression and time zone were checked by whoever built the command; the
// result says whether the cron is new. InvalidContent if it never comes due.
Result<bool> put_cron(Frame& frame, CronSpec cron);
Status delete_cron(Frame& frame, const std::string& name);
// A single time that passed meanwhile comes at once after the pause; a firing that waits for the
// end of the last one is dropped.
Status pause_cron(Frame& frame, const std::string& name, bool paused);

// One of them is nil.
struct CronStarted {
  JobId job;
  RunId run;
};
// Starts it now, whatever its schedule says and whether or not the last one has ended.
Result<CronStarted> start_cron(Frame& frame, const std::string& name);
// The same of a cron that starts jobs.
Result<JobId> trigger_cron(Frame& frame, const std::string& name);

void cron_due(Frame& frame, const Cron& cron);
// Something happened to what a firing of this cron waits for.
void waiting_cron_due(Frame& frame, const Cron& cron);

// Whether what it started last is still at work.
bool last_is_at_work(const State& state, const Cron& cron);

}  // namespace pawl
