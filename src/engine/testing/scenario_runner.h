// Runs one script of tests/scenarios (README.md there has the verbs) against a core over any store.
// Every restart also proves that rows and tail give the state that memory had, and every script
// ends with a replay of its whole journal.
#pragma once

#include <memory>
#include <string>

#include "store/testing/backing.h"

namespace pawl {

// Empty when all expectations hold; else the first failure.
std::string run_scenario(std::unique_ptr<Backing> backing, const std::string& text);

}  // namespace pawl
