// FaultMix: which faults a world suffers, and how often. Every seed draws its own: a world in which
// only one thing goes wrong finds other bugs than one in which everything does.
#pragma once

#include <cstdint>

#include "sim/chance.h"

namespace pawl::sim {

struct FaultMix {
  // In a thousand steps.
  uint64_t crash = 20;
  // In a hundred of what they happen to.
  uint64_t commit_fails = 2;
  uint64_t recovery_fails = 25;
  uint64_t clock_back = 3;
  uint64_t clock_jumps = 2;
  uint64_t request_lost = 3;
  uint64_t request_doubled = 4;
  uint64_t request_late = 4;  // it arrives after others that were sent later
  uint64_t reply_lost = 5;
  uint64_t worker_dies = 3;
  uint64_t worker_stalls = 7;
  uint64_t worker_lies = 3;  // acks and renews what it does not hold

  // Of a world on a simulated disk, which also fails commits and recoveries by itself.
  uint64_t disk_slow = 3;
  uint64_t disk_reads = 1;
  uint64_t disk_lies = 0;  // a world in which one has cost something ends with that
  uint64_t disk_rots = 0;  // so does one in which it was found

  static FaultMix none();
  static FaultMix draw(SimRandom& random);
  // Of those of the disk, which other worlds do not have, so that their draws stay what they are.
  void draw_disk(SimRandom& random);
};

}  // namespace pawl::sim
