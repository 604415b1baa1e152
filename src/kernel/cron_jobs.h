// Crons: jobs pushed by the clock. What was missed while the server was down, or while a cron was
// paused, is made up for by one run at most.
#pragma once

#include "kernel/frame.h"

namespace pawl {

// Creates or replaces. The expression and time zone were checked by whoever built the command; the
// result says whether the cron is new.
Result<bool> put_cron(Frame& frame, CronSpec cron);
Status delete_cron(Frame& frame, const std::string& name);
// Runs it now, whatever its schedule says.
Result<JobId> trigger_cron(Frame& frame, const std::string& name);
void cron_due(Frame& frame, const Cron& cron);

}  // namespace pawl
