// Reads queue settings from requests, for all calls that take them.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "journal/events.h"

namespace pawl::api {

// The settings that a request changes.
struct QueueWish {
  std::optional<uint64_t> depth_max;
  std::optional<uint32_t> warn_permille;
  std::optional<uint32_t> rate_per_second;
  std::optional<bool> paused;
  std::optional<QueuePlace> partition;

  bool is_empty() const {
    return !depth_max && !warn_permille && !rate_per_second && !paused && !partition;
  }
  void apply(QueueSettings& settings) const {
    settings.depth_max = depth_max.value_or(settings.depth_max);
    settings.warn_permille = warn_permille.value_or(settings.warn_permille);
    settings.rate_per_second = rate_per_second.value_or(settings.rate_per_second);
    settings.paused = paused.value_or(settings.paused);
    settings.partition = partition.value_or(settings.partition);
  }
};

// Reads the settings in `object`, and in its member "config" where `path` is "$". Unsupported for a
// setting that this server does not have, InvalidContent for a bad value.
Status parse_queue_wish(json::View object, const std::string& path, QueueWish& wish);

}  // namespace pawl::api
