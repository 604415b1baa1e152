// What the disk itself can do: append 4 KiB, fdatasync, again and again. No server that keeps its
// promises is faster per lone job, so every latency figure is read against this one.
#pragma once

#include <string>

#include "base/result.h"
#include "samples.h"

namespace pawl::bench {

struct FsyncFigures {
  Samples latency;
  double per_second = 0;
};

// Writes a file in `directory` and removes it. Ends after `count` syncs or ten seconds.
Result<FsyncFigures> probe_fsync(const std::string& directory, int count);

}  // namespace pawl::bench
