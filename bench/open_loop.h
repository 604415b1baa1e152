// OpenLoop: jobs arrive at a fixed rate whatever the server does. A latency counts from the moment
// the job was due, not from when a connection was free to send it, so a stall of the server shows
// in every job that would have come meanwhile (no coordinated omission).
#pragma once

#include <cstdint>

#include "base/result.h"
#include "http_client.h"
#include "samples.h"

namespace pawl::bench {

struct OpenLoopPlan {
  int64_t jobs_per_second = 0;
  double seconds = 0;
  int producers = 64;
  int workers = 64;
};

struct OpenLoopOutcome {
  Samples latency;  // due → reply to the ack
  int64_t jobs = 0;
  double seconds = 0;
};

// Fails like a flow does, and if a job comes out twice or was never put in.
Result<OpenLoopOutcome> run_open_loop(const Address& address, const OpenLoopPlan& plan);

}  // namespace pawl::bench
