// Makes a process: a group of its own, the given streams, directory and limits, and nothing else of
// the server's. It dies with the server: the first process by the kernel's word to it, the whole
// group by the DeathWatch, which knows of it before the program begins.
//
// The kernel's word is bound to the thread that calls this: that thread must live until the process
// has ended, and then call DeathWatch::ended. Any thread, with SIGPIPE held back.
#pragma once

#include <sys/types.h>

#include "actions/process.h"
#include "base/working_on.h"

namespace pawl::actions {

// Errors as run_process. The descriptors stay the caller's, and are all above the standard ones.
// `working` is told of the group and must outlive it.
Result<pid_t> spawn(const ProcessSpec& spec, int input, int output, int errors,
                    WorkingCommand& working);

}  // namespace pawl::actions
