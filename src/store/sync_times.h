// How long the storage took to make things durable: a count, a sum, and the last ones for
// percentiles. Thread: any.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace pawl {

struct SyncStats {
  uint64_t count = 0;
  uint64_t ns_total = 0;
  uint64_t ns_p50 = 0;  // over the last kSyncWindow
  uint64_t ns_p99 = 0;
};

class SyncTimes {
 public:
  void add(std::chrono::nanoseconds taken);
  SyncStats stats() const;

 private:
  static constexpr size_t kSyncWindow = 1024;

  std::atomic<uint64_t> count_{0};
  std::atomic<uint64_t> ns_{0};
  std::array<std::atomic<uint64_t>, kSyncWindow> recent_{};
};

}  // namespace pawl
