// fs.read … fs.move. Blocks on the disk.
#pragma once

#include "actions/action.h"
#include "actions/stop_signal.h"

namespace pawl::actions {

// The action is one of fs.*, its parameters were checked. Any thread.
ActionOutcome run_fs_action(const ActionRequest& request, const ActionPolicy& policy,
                            const StopSignal& stop);

}  // namespace pawl::actions
