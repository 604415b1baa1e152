// FetchOrder: what a worker asks for, read as far as it takes to ask several partitions for it,
// each for a part. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace pawl::front {

struct FetchOrder {
  struct Queue {
    std::string name;    // as the worker says it
    std::string scoped;  // with its tenant
  };
  std::vector<Queue> queues;
  uint32_t count = 1;
  int64_t wait_ms = 0;
  std::string others;  // further members of the body, as "name":value,…

  // The body that asks for `count` jobs of these queues, without waiting.
  std::string part(const std::vector<Queue>& of, uint32_t jobs) const;
};

// Nothing if it is not a well-formed one: then any partition may refuse it. `worker_id`: for an
// order that names no worker itself.
std::optional<FetchOrder> read_fetch_order(json::View body, std::string_view tenant,
                                           std::string_view worker_id = {});

}  // namespace pawl::front
