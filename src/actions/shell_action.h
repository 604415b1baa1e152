// shell.exec: which programs may run, and with what around them.
//
// Off unless the policy says otherwise. With a list of commands, an entry without a slash is the
// program that the server's own PATH finds under that name, one with a slash is that file, and that
// file is what runs. The environment is made anew: PATH, HOME, LANG, the names the policy passes
// on, and the step's own, which with such a list may only be names that the policy has; the
// server's secrets are in none of them. It runs in the run's directory unless the policy names
// another. Blocks until the program has ended; any thread.
#pragma once

#include "actions/action.h"
#include "actions/stop_signal.h"

namespace pawl::actions {

ActionOutcome run_shell_action(const ActionRequest& request, const ActionPolicy& policy,
                               StopSignal& stop);

}  // namespace pawl::actions
