// PushJobs: all of them or none. A refusal names the job by its place in the list.
#pragma once

#include <vector>

#include "kernel/frame.h"

namespace pawl {

struct Pushed {
  JobId id;
  bool created = true;  // false: a unique job was there already and the push was to be ignored
};

Result<std::vector<Pushed>> push_jobs(Frame& frame, const std::vector<NewJob>& jobs);

}  // namespace pawl
