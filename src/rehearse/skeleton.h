// Skeleton: a first test file for a definition: a mock for every external call, an answer to every
// question, and the expectation that it completes. Pure.
#pragma once

#include <string>

#include "plan/script.h"

namespace pawl::rehearse {

// `file`: the definition's path, as the test file is to name it.
std::string first_test_file(const plan::Script& script, const std::string& file);

}  // namespace pawl::rehearse
