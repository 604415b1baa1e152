// What the kernel says a process has used: read from /proc, so that server and yardstick are
// measured alike and from outside.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/result.h"

namespace pawl::bench {

struct ProcessStat {
  double cpu_seconds = 0;  // user + system, all threads, also those that ended; ticks of 10 ms
  int64_t rss_bytes = 0;
  int64_t rss_peak_bytes = 0;
};

Result<ProcessStat> process_stat(pid_t pid);

double own_cpu_seconds();

}  // namespace pawl::bench
