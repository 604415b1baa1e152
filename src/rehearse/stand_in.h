// Stand-ins: steps that the engine would do itself (runs of other definitions, workflow.* actions)
// are asked of the outside instead, where a mock answers them.
//
// Only the steps that need it are changed: those a mock names, and calls of definitions that are
// not given. Everything else of the definition stays as it is, so what is rehearsed is what runs.
// Pure.
#pragma once

#include <string>
#include <string_view>

#include "rehearse/test_file.h"

namespace pawl::rehearse {

// The canonical text of a definition, with stand-ins for this case.
std::string staged_definition(const plan::Script& script, const TestFile& file, const Case& given);

// The name of an action as the definition says it: "subworkflow" for a run of another definition.
std::string_view written_action(std::string_view action);
bool is_stand_in(std::string_view action);

}  // namespace pawl::rehearse
