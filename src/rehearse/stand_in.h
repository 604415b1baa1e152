// Stand-ins: steps that the engine would do itself (runs of other definitions, workflow.* actions)
// become external calls, which a mock answers.
//
// Only steps that a mock names, and calls of definitions that are not given, are changed. The rest
// of the definition stays unchanged, so the rehearsal tests the real definition. Pure.
#pragma once

#include <string>
#include <string_view>

#include "rehearse/test_file.h"

namespace pawl::rehearse {

// The canonical text of a definition, with stand-ins for this case.
std::string staged_definition(const plan::Script& script, const TestFile& file, const Case& given);

// The name of an action in the definition: "subworkflow" for a run of another definition.
std::string_view written_action(std::string_view action);
bool is_stand_in(std::string_view action);

}  // namespace pawl::rehearse
