// Resource usage of this process. Thread: any.
#pragma once

#include <cstdint>

namespace pawl::api {

struct ProcessUsage {
  uint64_t resident_bytes = 0;
  double cpu_seconds = 0;  // user and system
  uint64_t open_files_max = 0;
};

ProcessUsage process_usage();

}  // namespace pawl::api
