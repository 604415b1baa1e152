// shell.exec: which programs may run, and their environment.
//
// Off unless the policy enables it. With a list of commands, an entry without a slash is the
// program that the server's own PATH finds under that name, an entry with a slash is that file, and
// only that file runs. The environment is new: PATH, HOME, LANG, the names the policy passes on,
// and the step's own variables, which with such a list must be names in the policy; it never has
// the server's secrets. It runs in the run's directory unless the policy names another. Blocks
// until the program has ended; any thread.
#pragma once

#include "actions/action.h"
#include "actions/stop_signal.h"

namespace pawl::actions {

ActionOutcome run_shell_action(const ActionRequest& request, const ActionPolicy& policy,
                               StopSignal& stop);

}  // namespace pawl::actions
