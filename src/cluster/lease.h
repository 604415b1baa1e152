// Lease: until when this node may believe what it remembers. Written by the keeper of leases at
// each good beat, asked wherever an answer leaves.
//
// Time here goes on while the machine sleeps. Thread: any.
#pragma once

#include <atomic>
#include <cstdint>

namespace pawl::cluster {

// Milliseconds since the machine started, sleep included.
int64_t machine_ms();

class Lease {
 public:
  void extend(int64_t until_ms) { until_ms_.store(until_ms, std::memory_order_release); }
  void end() { extend(0); }
  bool holds() const { return machine_ms() < until_ms_.load(std::memory_order_acquire); }

 private:
  std::atomic<int64_t> until_ms_{0};
};

}  // namespace pawl::cluster
