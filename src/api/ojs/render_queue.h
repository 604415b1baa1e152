// A queue as clients see it: its name, its counts by state, and its settings.
#pragma once

#include <array>
#include <string_view>

#include "api/router.h"
#include "base/json_writer.h"
#include "base/result.h"
#include "journal/events.h"

namespace pawl {
struct Queue;
}

namespace pawl::api {

// Counts by state as members: "available": 3, … Counts of finished states are since the beginning.
void write_state_counts(json::Writer& w, const std::array<uint64_t, kJobStateCount>& counts);

// Members of the queue's object. An unused queue (null) has zero counts.
void render_queue_members(json::Writer& w, std::string_view scoped, const Queue* queue);

// "max_size": …, "backpressure": …, "rate_limit": …: only what was set.
void render_queue_settings(json::Writer& w, const QueueSettings& settings);

// The queue that the path names, in the caller's tenant; InvalidRequest if the name is invalid.
Result<std::string> queue_of_path(const Call& call);

// The queue cannot be removed while it holds so many jobs.
Error queue_in_use(std::string_view scoped, uint64_t unfinished);

}  // namespace pawl::api
