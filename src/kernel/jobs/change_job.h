// Changing a waiting job: its place in the queue, and its metadata.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/uuid.h"
#include "journal/events.h"

namespace pawl {

class Frame;

struct ChangeJob {
  JobId job;
  std::optional<int32_t> priority = {};
  std::optional<int64_t> scheduled_ms = {};  // 0 or a past time = available at once
  std::string spec = {};                     // JobSpec of the same type, encoded; "" = as it is
};

// Conflict unless the job is available, scheduled or pending: the place of a running job, or of one
// that waits for a retry, cannot change. Nothing is written if nothing changes.
Status change_job(Frame& frame, const ChangeJob& command);

}  // namespace pawl
