#include "store/sync_times.h"

#include <algorithm>
#include <vector>

namespace pawl {

void SyncTimes::add(std::chrono::nanoseconds taken) {
  const auto ns = static_cast<uint64_t>(taken.count());
  const uint64_t index = count_.fetch_add(1, std::memory_order_relaxed);
  ns_.fetch_add(ns, std::memory_order_relaxed);
  recent_[index % kSyncWindow].store(ns, std::memory_order_relaxed);
}

SyncStats SyncTimes::stats() const {
  SyncStats stats;
  stats.count = count_.load(std::memory_order_relaxed);
  stats.ns_total = ns_.load(std::memory_order_relaxed);
  if (stats.count == 0) return stats;
  std::vector<uint64_t> window(static_cast<size_t>(std::min<uint64_t>(stats.count, kSyncWindow)));
  for (size_t i = 0; i < window.size(); ++i) window[i] = recent_[i].load(std::memory_order_relaxed);
  std::sort(window.begin(), window.end());
  stats.ns_p50 = window[window.size() / 2];
  stats.ns_p99 = window[window.size() * 99 / 100];
  return stats;
}

}  // namespace pawl
