// NodeFigures: what a node counts beyond what its partitions do, for GET /metrics.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "link/links.h"

namespace pawl::api {

struct NodeFigures {
  uint64_t takeovers = 0;
  uint64_t fenced = 0;
  uint64_t recoveries = 0;
  uint64_t recovery_us = 0;  // that they took, in all
  link::LinkStats links;
  // By partition that is served here: messages to others that these have not taken.
  std::vector<std::pair<uint16_t, uint64_t>> messages_unsettled;
};

}  // namespace pawl::api
