// Checks the parameters in a definition against the action's schema before a run.
#pragma once

#include <string_view>

#include "plan/definition.h"

namespace pawl::actions {

// For plan::ReadOptions::params: finds unknown and missing parameters of every built-in action, and
// invalid values, unless they hold a template, whose value is not known yet. Pure; any thread.
void judge_params(std::string_view action, const plan::Cursor& step, const plan::Cursor* params,
                  plan::Findings& findings);

}  // namespace pawl::actions
