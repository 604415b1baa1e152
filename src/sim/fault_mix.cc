#include "sim/fault_mix.h"

namespace pawl::sim {
namespace {

constexpr uint64_t FaultMix::*kFaults[] = {
    &FaultMix::crash,           &FaultMix::commit_fails,  &FaultMix::recovery_fails,
    &FaultMix::clock_back,      &FaultMix::clock_jumps,   &FaultMix::request_lost,
    &FaultMix::request_doubled, &FaultMix::request_late,  &FaultMix::reply_lost,
    &FaultMix::worker_dies,     &FaultMix::worker_stalls, &FaultMix::worker_lies,
};

}  // namespace

FaultMix FaultMix::none() {
  FaultMix mix;
  for (auto fault : kFaults) mix.*fault = 0;
  return mix;
}

FaultMix FaultMix::draw(SimRandom& random) {
  FaultMix mix;
  for (auto fault : kFaults) {
    uint64_t how = random.below(10);
    if (how < 2) mix.*fault = 0;
    if (how >= 8) mix.*fault *= 4;
  }
  return mix;
}

}  // namespace pawl::sim
