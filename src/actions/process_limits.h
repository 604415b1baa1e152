// Resource limits of a command (setrlimit), applied to each process separately; 0 = not set by us.
// Core dumps are never written.
#pragma once

#include <cstdint>

namespace pawl::actions {

struct ProcessLimits {
  // Address space; beyond it the program gets no more. There is no limit for memory in use, and
  // Java or Node reserve many times more than they use, so there is no good default.
  uint64_t memory_bytes = 0;
  uint64_t cpu_s = 3600;              // of processor time; SIGXCPU
  uint64_t file_bytes = 16ull << 30;  // of a file it writes; SIGXFSZ
  uint64_t open_files = 1024;
  // Counts all processes and threads of the server's user, including the server's own, so there is
  // no good default. Does not limit root.
  uint64_t processes = 0;

  static constexpr ProcessLimits none() { return {0, 0, 0, 0, 0}; }
};

}  // namespace pawl::actions
