#include "api/process_usage.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

namespace pawl::api {

ProcessUsage process_usage() {
  ProcessUsage usage;
  if (FILE* file = std::fopen("/proc/self/statm", "re")) {
    unsigned long long total = 0;
    unsigned long long resident = 0;
    if (std::fscanf(file, "%llu %llu", &total, &resident) == 2)
      usage.resident_bytes = resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    std::fclose(file);
  }
  rusage used{};
  if (::getrusage(RUSAGE_SELF, &used) == 0) {
    auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    usage.cpu_seconds = seconds(used.ru_utime) + seconds(used.ru_stime);
  }
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) usage.open_files_max = files.rlim_cur;
  return usage;
}

}  // namespace pawl::api
