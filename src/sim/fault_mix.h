// FaultMix: the faults of a world and their frequency. Every seed draws its own: a world with one
// kind of fault finds other bugs than one with all kinds.
#pragma once

#include <cstdint>

#include "sim/chance.h"

namespace pawl::sim {

struct FaultMix {
  // Per thousand steps.
  uint64_t crash = 20;
  // Per hundred applicable operations.
  uint64_t commit_fails = 2;
  uint64_t recovery_fails = 25;
  uint64_t clock_back = 3;
  uint64_t clock_jumps = 2;
  uint64_t request_lost = 3;
  uint64_t request_doubled = 4;
  uint64_t request_late = 4;  // it arrives after later requests
  uint64_t reply_lost = 5;
  uint64_t worker_dies = 3;
  uint64_t worker_stalls = 7;
  uint64_t worker_lies = 3;  // acks and renews jobs that it does not hold

  // Of a world on a simulated disk, which also fails commits and recoveries by itself.
  uint64_t disk_slow = 3;
  uint64_t disk_reads = 1;
  uint64_t disk_lies = 0;  // a world ends when such a sync has lost data
  uint64_t disk_rots = 0;  // a world ends when the damage was detected

  static FaultMix none();
  static FaultMix draw(SimRandom& random);
  // Draws the disk faults separately, so that the draws of other worlds stay unchanged.
  void draw_disk(SimRandom& random);
};

}  // namespace pawl::sim
