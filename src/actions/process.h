// Runs one program to its end: own process group, own environment, both outputs kept within bounds.
//
// No process of its group survives: the group is killed when the time is up, when it is stopped,
// when its output is too large, and when its first process has exited. Only a process that left the
// group (setsid) survives, and is not waited for. When this process is killed, the group is killed
// too (death_watch.h). Blocks; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "actions/process_limits.h"
#include "actions/stop_signal.h"
#include "base/result.h"

namespace pawl::actions {

struct ProcessSpec {
  std::string program;                   // path of the file
  std::vector<std::string> arguments;    // the program's name first
  std::vector<std::string> environment;  // NAME=value, all of it
  std::string directory;                 // "" = the server's
  std::string input;                     // of its standard input
  size_t output_bytes_max = 10u << 20;   // of each stream
  int64_t kill_after_ms = 0;             // 0 = only the stop signal ends it
  ProcessLimits limits;
};

struct ProcessEnd {
  enum class Why { Exited, KilledByTime, Stopped, SaidTooMuch };
  Why why = Why::Exited;
  int exit_code = 0;   // -1 if a signal ended it
  int signal = 0;      // which
  int64_t cpu_ms = 0;  // processor time of it and of the children it waited for
  std::string output;
  std::string errors;
};

// NotFound (no such program or directory), Forbidden (not executable), InvalidContent (no program,
// too long a command line), Unavailable (no process can be made now).
Result<ProcessEnd> run_process(const ProcessSpec& spec, StopSignal& stop);

}  // namespace pawl::actions
