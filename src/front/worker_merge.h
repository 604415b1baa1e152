// Merging registries: what the nodes know of workers becomes one registry. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/workers.h"

namespace pawl::front {

// By id. What a worker says of itself counts as it said it last; counts of different nodes add up,
// since each node counts the calls that it has handled.
std::vector<api::WorkerInfo> merge_workers(const std::vector<std::vector<api::WorkerInfo>>& nodes);

// {"workers": […]}, as one node tells another one.
std::string workers_text(const std::vector<api::WorkerInfo>& workers);
std::optional<std::vector<api::WorkerInfo>> read_workers(std::string_view text);

// What a node is to do with its registry, beside telling what is in it.
struct WorkerOrder {
  std::vector<std::string> ids = {};  // none: nothing
  std::string directive = {};         // "" revokes one
  bool forget = false;                // instead of a directive
};
std::string order_text(const WorkerOrder& order);
WorkerOrder read_order(std::string_view text);

}  // namespace pawl::front
