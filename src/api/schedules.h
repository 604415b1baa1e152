// Schedules that a definition brings along: they follow its newest version.
#pragma once

#include <string>
#include <vector>

#include "kernel/frame.h"

namespace pawl::api {

// Makes, replaces and deletes <definition>/trigger_<n> so that they are these. One that somebody
// paused stays so. Refuses, before anything happens, what never comes due.
Status put_triggers(Frame& frame, const std::string& definition, const std::string& tenant,
                    const std::vector<CronSpec>& triggers);

}  // namespace pawl::api
