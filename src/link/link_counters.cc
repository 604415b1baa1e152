#include "link/link_counters.h"

#include <algorithm>
#include <chrono>

namespace pawl::link {

uint64_t now_us() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

void LinkCounters::add_failure(LinkFailure failure) {
  failures_[static_cast<size_t>(failure)].fetch_add(1, std::memory_order_relaxed);
}

void LinkCounters::add_forward(uint64_t micros) {
  const auto& bounds = LinkStats::kBoundsUs;
  const auto bound = std::lower_bound(bounds.begin(), bounds.end(), micros);
  forwards_[static_cast<size_t>(bound - bounds.begin())].fetch_add(1, std::memory_order_relaxed);
  forward_us_.fetch_add(micros, std::memory_order_relaxed);
}

LinkStats LinkCounters::stats() const {
  const auto failures = [&](LinkFailure failure) {
    return failures_[static_cast<size_t>(failure)].load();
  };
  LinkStats stats;
  stats.passed_on = passed_on.load();
  stats.batches = batches.load();
  stats.not_sent = failures(LinkFailure::NotSent);
  stats.not_mine = failures(LinkFailure::NotMine);
  stats.unknown = failures(LinkFailure::Unknown);
  stats.refused = failures(LinkFailure::Refused);
  stats.streams_broken = streams_broken.load();
  stats.lines = lines.load();
  for (size_t i = 0; i < forwards_.size(); ++i) stats.forwards[i] = forwards_[i].load();
  stats.forward_us = forward_us_.load();
  return stats;
}

}  // namespace pawl::link
