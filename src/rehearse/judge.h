// Judge: a rehearsed run against what its case expects. Pure.
#pragma once

#include <vector>

#include "rehearse/matcher.h"
#include "rehearse/rehearsal.h"

namespace pawl::rehearse {

// Under faults a crash takes time, so only a lower bound of the time is judged; calls are counted
// by what was asked for, however often it was done. A run that was given up is not judged.
std::vector<Difference> judge(const Case& given, const Rehearsed& run, bool under_faults);

}  // namespace pawl::rehearse
