// run_child: one shell command with text on its standard input; its stdout is collected, its stderr
// is passed on and its last part kept. It runs in its own process group, so that Ctrl-C reaches the
// worker and not the command.
//
// Thread: any. A write to a child that reads nothing must not kill the program: SIGPIPE has to be
// ignored.
#pragma once

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace pawl::cli {

struct ChildEnd {
  int exit_code = 0;        // of a child that ended by itself
  int signal = 0;           // that ended it, or 0
  std::string output;       // whole
  std::string last_words;   // the end of what it wrote to stderr
  bool output_cut = false;  // it printed more than the bound and was ended
};

struct ChildOrder {
  std::string command;  // for /bin/sh -c
  std::string input;
  std::vector<std::pair<std::string, std::string>> environment = {};  // beside the program's own
  size_t output_bytes_max = size_t{16} << 20;
};

// `pid` is set while the child lives, else 0. Unavailable if it cannot be started.
Result<ChildEnd> run_child(const ChildOrder& order, std::atomic<int>& pid);
// SIGTERM to the child's whole group; nothing if there is none.
void end_child(std::atomic<int>& pid);

}  // namespace pawl::cli
