// LinkCounters: what Links has done, and its clock. Thread: any.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "link/links.h"

namespace pawl::link {

uint64_t now_us();  // steady

struct LinkCounters {
  std::atomic<uint64_t> passed_on{0};
  std::atomic<uint64_t> batches{0};
  std::atomic<uint64_t> streams_broken{0};
  std::atomic<uint64_t> lines{0};

  void add_failure(LinkFailure failure);
  void add_forward(uint64_t micros);
  LinkStats stats() const;

 private:
  std::array<std::atomic<uint64_t>, 4> failures_ = {};  // by LinkFailure
  std::array<std::atomic<uint64_t>, LinkStats::kBoundsUs.size() + 1> forwards_ = {};
  std::atomic<uint64_t> forward_us_{0};
};

}  // namespace pawl::link
