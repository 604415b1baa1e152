// Schedules from a definition's triggers: they follow its newest version.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "journal/events.h"

namespace pawl {
class Frame;
}

namespace pawl::api {

// Creates, replaces and deletes <definition>/trigger_<n> to match the list. A paused one stays
// paused. First refuses schedules that are never due.
Status put_triggers(Frame& frame, const std::string& definition, const std::string& tenant,
                    const std::vector<CronSpec>& triggers);

}  // namespace pawl::api
