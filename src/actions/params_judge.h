// What a definition gives an action, held against the action's schema before there is a run.
#pragma once

#include <string_view>

#include "plan/definition.h"

namespace pawl::actions {

// For plan::ReadOptions::params: names that the action does not know, and those it needs and is not
// given, are found for every built-in action; values too, unless they hold a template, of which
// nothing is known yet. Pure; any thread.
void judge_params(std::string_view action, const plan::Cursor& step, const plan::Cursor* params,
                  plan::Findings& findings);

}  // namespace pawl::actions
