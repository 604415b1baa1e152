// File errors in the language's codes. The Error carries the code as its first complaint;
// fs_outcome turns it into the step's failure.
#pragma once

#include <string>
#include <string_view>

#include "actions/action.h"
#include "actions/stop_signal.h"
#include "base/result.h"

namespace pawl::actions {

Error fs_error(std::string_view code, std::string message);
// By errno, for a path. Links found after a path was checked are PATH_DENIED.
Error fs_errno(int number, std::string_view path);
// CANCELLED or TIMEOUT_ERROR if the action should end now.
Status keep_going(const StopSignal& stop);

ActionOutcome fs_outcome(const Error& error);

}  // namespace pawl::actions
