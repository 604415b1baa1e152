// For tests: every field of a Script as text, except line numbers. Two scripts are equal if their
// texts are.
#pragma once

#include <string>

#include "plan/script.h"

namespace pawl::plan {

std::string story(const Step& step);

std::string story(const Script& script);

}  // namespace pawl::plan
