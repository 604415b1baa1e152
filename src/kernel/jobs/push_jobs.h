// push_jobs() pushes all jobs or none. A refusal names the job by its place in the list, and comes
// before anything is emitted.
#pragma once

#include <vector>

#include "base/result.h"
#include "base/uuid.h"

namespace pawl {

class Frame;
struct NewJob;

struct Pushed {
  JobId id;
  bool created = true;  // false: a unique job existed and the push was ignored
};

Result<std::vector<Pushed>> push_jobs(Frame& frame, const std::vector<NewJob>& jobs);

// Pushes one job of a run or cron: depth bounds do not apply to it, since it must not be lost; its
// unique policy does. Duplicate if that refuses it.
Result<JobId> place_job(Frame& frame, const NewJob& job);

// The same at the job's home, if that is another partition (kernel/messages/placing.h): then a
// refusal comes later, as the end of the job.
Result<JobId> place_member(Frame& frame, const NewJob& job);

}  // namespace pawl
