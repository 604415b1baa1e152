// Starts a process in its own group, with the given streams, directory and limits, and nothing else
// of the server's. It is killed with the server: the first process by PR_SET_PDEATHSIG, the whole
// group by the DeathWatch, which gets the group before the program begins.
//
// PR_SET_PDEATHSIG is bound to the calling thread: that thread must live until the process has
// ended, and then call DeathWatch::ended. Any thread, with SIGPIPE blocked.
#pragma once

#include <sys/types.h>

#include "actions/process.h"
#include "base/working_on.h"

namespace pawl::actions {

// Errors as run_process. The caller keeps the descriptors, which are all above the standard ones.
// `working` records the group and must outlive it.
Result<pid_t> spawn(const ProcessSpec& spec, int input, int output, int errors,
                    WorkingCommand& working);

}  // namespace pawl::actions
