// FetchJobs: leases waiting jobs to a worker: queues from left to right, in each by priority, then
// age. Jobs of a paused queue, over a rate or at a concurrency limit stay in the queue.
#pragma once

#include <string>
#include <vector>

#include "base/uuid.h"
#include "journal/events.h"

namespace pawl {

class Frame;
struct Job;

struct FetchJobs {
  std::vector<std::string> queues;  // scoped
  uint32_t count = 1;
  std::string worker;
  int64_t visibility_ms = 0;  // 0: the job's own, or the default
  int64_t visibility_default_ms = 0;
};

struct Fetched {
  std::vector<JobId> jobs;
  size_t bytes = 0;         // of all together
  int64_t retry_at_ms = 0;  // a rate limit held jobs back until then; 0 = none did
};

Fetched fetch_jobs(Frame& frame, const FetchJobs& command);

// The duration of a lease on this job: the requested one, else the job's own, else the default.
int64_t lease_ms(const Job& job, int64_t asked_ms, int64_t default_ms);

}  // namespace pawl
