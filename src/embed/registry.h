// Registered workflows, as documents of the engine. Engine thread.
#pragma once

#include <string>
#include <vector>

#include "kernel/frame.h"
#include "plan/definition.h"

namespace pawl::embed {

// Makes it the one that runs by its name, and returns its version: the one that it says, or the
// next number. A version never changes: another text under the same one becomes "<version>+2".
Result<std::string> put_workflow(Frame& frame, const plan::ReadResult& read);

// False if there is none. Conflict while runs of it are not over. Its text stays, since runs are
// shown with it.
Result<bool> remove_workflow(Frame& frame, const std::string& name);

std::vector<std::string> workflow_names(const State& state);

}  // namespace pawl::embed
