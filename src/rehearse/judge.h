// Judge: compares a rehearsed run with its case's expectations. Pure.
#pragma once

#include <vector>

#include "rehearse/matcher.h"
#include "rehearse/rehearsal.h"

namespace pawl::rehearse {

// Under faults a crash takes time, so only the lower bound of the time is checked; a call that is
// repeated after a crash counts once. A run that was given up is not checked.
std::vector<Difference> judge(const Case& given, const Rehearsed& run, bool under_faults);

}  // namespace pawl::rehearse
