// What a worker tells of itself in a heartbeat, for operators to see.
#pragma once

#include "api/workers.h"
#include "base/json.h"

namespace pawl::api {

// Passes over what has the wrong form or is too long: a heartbeat is never refused for it, since
// that would cost the worker its leases.
WorkerSelf worker_self(json::View heartbeat, std::string_view tenant);

}  // namespace pawl::api
