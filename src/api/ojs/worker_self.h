// Data about a worker in its heartbeat, for operators.
#pragma once

#include "api/workers.h"
#include "base/json.h"

namespace pawl::api {

// Ignores malformed or too long values: refusing the heartbeat would cost the worker its leases.
WorkerSelf worker_self(json::View heartbeat, std::string_view tenant);

}  // namespace pawl::api
