// Registered workflows, as documents of the engine. Engine thread.
#pragma once

#include <string>
#include <vector>

#include "plan/definition.h"

namespace pawl {
class Frame;
class State;
}  // namespace pawl

namespace pawl::embed {

// Makes it the current definition of its name, and returns its version: the given one, or the next
// number. A version never changes: another text under the same version becomes "<version>+2".
Result<std::string> put_workflow(Frame& frame, const plan::ReadResult& read);

// False if there is none. Conflict while it has unfinished runs. Its text stays, since it is needed
// to show runs.
Result<bool> remove_workflow(Frame& frame, const std::string& name);

std::vector<std::string> workflow_names(const State& state);

}  // namespace pawl::embed
