// Merge: the answers of several partitions become the one that a single partition would have given.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "api/router.h"
#include "http/answer_sink.h"
#include "http/responder.h"

namespace pawl::front {

// What a partition is asked, so that its answer can be merged: Routing::Gather and Broadcast.
http::RequestParts part_request(const api::Route& route, const http::RequestParts& request);

// The answers to part_request(), in the order of the partitions.
http::Response merge_answers(const api::Route& route, const http::RequestParts& request,
                             std::vector<http::Response>&& answers);

// The first answer that stands for all because some partition failed; nothing if none did. Of a
// thing that only some partitions have, those that have it count.
const http::Response* failure_among(const std::vector<http::Response>& answers);

}  // namespace pawl::front
