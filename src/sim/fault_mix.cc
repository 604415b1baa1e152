#include "sim/fault_mix.h"

namespace pawl::sim {
namespace {

constexpr uint64_t FaultMix::*kFaults[] = {
    &FaultMix::crash,           &FaultMix::commit_fails,  &FaultMix::recovery_fails,
    &FaultMix::clock_back,      &FaultMix::clock_jumps,   &FaultMix::request_lost,
    &FaultMix::request_doubled, &FaultMix::request_late,  &FaultMix::reply_lost,
    &FaultMix::worker_dies,     &FaultMix::worker_stalls, &FaultMix::worker_lies,
};
constexpr uint64_t FaultMix::*kDiskFaults[] = {&FaultMix::disk_slow, &FaultMix::disk_reads,
                                               &FaultMix::disk_lies, &FaultMix::disk_rots};

void vary(uint64_t& fault, SimRandom& random) {
  uint64_t how = random.below(10);
  if (how < 2) fault = 0;
  if (how >= 8) fault *= 4;
}

}  // namespace

FaultMix FaultMix::none() {
  FaultMix mix;
  for (auto fault : kFaults) mix.*fault = 0;
  for (auto fault : kDiskFaults) mix.*fault = 0;
  return mix;
}

FaultMix FaultMix::draw(SimRandom& random) {
  FaultMix mix;
  for (auto fault : kFaults) vary(mix.*fault, random);
  return mix;
}

void FaultMix::draw_disk(SimRandom& random) {
  if (random.percent(15)) disk_lies = 10;
  const uint64_t rot = random.below(100);  // in separate worlds, so that damage has one cause
  if (disk_lies == 0 && rot < 20) disk_rots = 1 + rot % 5;
  for (auto fault : kDiskFaults) vary(this->*fault, random);
}

}  // namespace pawl::sim
