// Answers about workers, made of what the registry of a server, or those of several nodes, know of
// them. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/paging.h"
#include "api/response.h"
#include "api/router.h"
#include "api/workers.h"

namespace pawl::api {

// `workers` are in the order of their ids.
Reply workers_page(const Page& page, const std::vector<WorkerInfo>& workers, int64_t now_ms);
http::Response worker_response(const WorkerInfo& worker, int64_t now_ms);
http::Response worker_health_response(const WorkerInfo& worker, int64_t now_ms);
Error no_such_worker();

// Of the body of a call to all workers: quiet, resume or terminate.
Result<std::string> read_directive(const Call& call);
// How the registry names it: "" for resume.
std::string_view told_by(std::string_view directive);
// The directive that the path of a call to one worker means; nothing for another path.
std::optional<std::string_view> directive_of_path(std::string_view pattern);
http::Response directive_response(std::string_view directive, size_t workers);

http::Response deregistered_response(const std::string& worker, uint64_t jobs_requeued);

}  // namespace pawl::api
