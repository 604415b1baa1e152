// What a command may use. Each bound is the kernel's (setrlimit), counted for every process on its
// own; 0 = none of ours. Core dumps are never written.
#pragma once

#include <cstdint>

namespace pawl::actions {

struct ProcessLimits {
  // Of address space; beyond, the program gets no more. The kernel has no bound of what is really
  // used, and Java or Node reserve many times that, so no number is right for everybody.
  uint64_t memory_bytes = 0;
  uint64_t cpu_s = 3600;              // of processor time; SIGXCPU
  uint64_t file_bytes = 16ull << 30;  // of a file it writes; SIGXFSZ
  uint64_t open_files = 1024;
  // The kernel counts everything of the server's user, the server's own threads included, so no
  // number is right for everybody. Does not bind root.
  uint64_t processes = 0;

  static constexpr ProcessLimits none() { return {0, 0, 0, 0, 0}; }
};

}  // namespace pawl::actions
