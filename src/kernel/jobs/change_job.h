// Changing a job that still waits: its place in the queue, and what is said beside its work.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernel/frame.h"

namespace pawl {

struct ChangeJob {
  JobId job;
  std::optional<int32_t> priority = {};
  std::optional<int64_t> scheduled_ms = {};  // 0, or a time that has come = available at once
  std::string spec = {};                     // JobSpec of the same type, encoded; "" = as it is
};

// Conflict unless the job is available, scheduled or pending: a job that is at work, or waits for
// another attempt, has its place already. Nothing is written if nothing changes.
Status change_job(Frame& frame, const ChangeJob& command);

}  // namespace pawl
