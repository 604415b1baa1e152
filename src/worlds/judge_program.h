// Checks the parts of a manifest against each other, and resolves them into a Program.
#pragma once

#include <memory>
#include <vector>

#include "worlds/draft.h"

namespace pawl::worlds {

// Complains of all that does not fit. The program lacks its manifest's text and hash, and is good
// for use only if nothing was complained of.
std::shared_ptr<Program> judge_program(const Draft& draft, std::vector<Complaint>& faults);

// Judges the code of the modules: what came along, else what `find_blob` knows by its hash. An
// error only if the host is Unavailable.
Status judge_code(const Draft& draft, const ModuleLimits& limits, FindBytes find_blob,
                  ModuleHost& host, std::vector<Complaint>& faults);

}  // namespace pawl::worlds
