// DeathWatch: ends the commands of a server that was killed.
//
// A killed process runs no code of its own, so another one watches: a shell that reads a pipe whose
// only writer is this process. Every command's group is written there by the command's first
// process before it becomes the program, and struck off when it is over; when the pipe closes, the
// watch kills the groups that are left and ends. It starts with the first command and ignores what
// ends a server in good order (SIGTERM, Ctrl-C), since it must be the last to go.
//
// Should somebody kill or stop the watch, the next command starts another, which learns of all
// groups; until then only each command's first process dies with the server (PR_SET_PDEATHSIG,
// spawn.cc).
//
// Any thread. The caller holds SIGPIPE back.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "actions/file_handle.h"
#include "base/result.h"

namespace pawl::actions {

class DeathWatch {
 public:
  static DeathWatch& of_this_process();

  // One watch, from its start to its end.
  struct Line {
    std::shared_ptr<const FileHandle> pipe;  // what the watch reads
    uint64_t number = 0;
  };
  // Unavailable if no watch can be started.
  Result<Line> line();
  // What was written to this line was not read.
  void broken(const Line& line);
  // A group was written to this line, and runs.
  void began(pid_t group, const Line& line);
  // Its processes were killed. Call before the first one is reaped: then the number is another's.
  void ended(pid_t group);

 private:
  Status start();
  void drop();
  void write(char sign, pid_t group);

  std::mutex mutex_;
  std::shared_ptr<const FileHandle> pipe_;  // guarded by mutex_
  uint64_t number_ = 0;                     // guarded by mutex_: of the watch that reads pipe_
  FileHandle watch_;                        // guarded by mutex_: its process
  std::set<pid_t> groups_;                  // guarded by mutex_
};

// "+123\n", without allocating: also for a process that is about to become another program.
struct GroupLine {
  GroupLine(char sign, pid_t group);
  char text[16];
  size_t size = 0;
};

}  // namespace pawl::actions
