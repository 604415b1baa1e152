// DeathWatch: ends the commands of a server that was killed.
//
// A killed process cannot clean up, so another process watches it: a shell that reads a pipe whose
// only writer is this process. The first process of every command writes its group there before it
// executes the program, and the group is removed when it has ended; when the pipe closes, the watch
// kills the remaining groups and ends. It starts with the first command and ignores the signals of
// a normal shutdown (SIGTERM, Ctrl-C), since it must end last.
//
// If the watch is killed or stopped, the next command starts another one, which gets all groups;
// until then only each command's first process dies with the server (PR_SET_PDEATHSIG,
// spawn.cc).
//
// Any thread. The caller blocks SIGPIPE.
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
  // A write to this line was not read.
  void broken(const Line& line);
  // A group was written to this line, and is running.
  void began(pid_t group, const Line& line);
  // Its processes were killed. Call before the first one is reaped, since its number may be reused
  // then.
  void ended(pid_t group);

 private:
  Status start();
  void drop();
  void write(char sign, pid_t group);

  std::mutex mutex_;
  std::shared_ptr<const FileHandle> pipe_;  // guarded by mutex_
  uint64_t number_ = 0;                     // guarded by mutex_: counts watches; that of pipe_
  FileHandle watch_;                        // guarded by mutex_: its process
  std::set<pid_t> groups_;                  // guarded by mutex_
};

// "+123\n", without allocating, so that it can be used between fork and exec.
struct GroupLine {
  GroupLine(char sign, pid_t group);
  char text[16];
  size_t size = 0;
};

}  // namespace pawl::actions
