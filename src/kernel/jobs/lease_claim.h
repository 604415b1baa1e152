// LeaseClaim: the lease under which a worker speaks of a job (finish_job.h).
#pragma once

#include <cstdint>
#include <string>

#include "base/uuid.h"

namespace pawl {

struct LeaseClaim {
  JobId job;
  std::string worker;    // empty: not named
  uint32_t attempt = 0;  // 0: not named
};

}  // namespace pawl
