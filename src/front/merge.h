// Merge: the answers of several partitions become the one that a single partition would have given
// (Routing::Gather and Broadcast). What becomes of each answer is said in front/merge_rules.h.
//
// A partition that failed fails the whole of a list or a sum: nothing is ever shorter than it is.
// An operation on many jobs tells instead which partitions failed.
//
// Pure.
#pragma once

#include <vector>

#include "api/router.h"
#include "front/gathering.h"
#include "front/merge_rules.h"
#include "http/answer_sink.h"
#include "http/responder.h"

namespace pawl::front {

// What the partitions are asked.
struct Asked {
  http::RequestParts request = {};
  std::vector<Part> parts = {};
  bool needs_workers = false;  // of all nodes (MergeAbout)
  bool needs_node = false;
};
// InvalidRequest if what is asked for cannot be merged.
Result<Asked> ask_parts(const api::Route& route, const http::RequestParts& request,
                        uint16_t partitions);

// The answers to these parts, in their order.
http::Response merge_answers(const api::Route& route, const http::RequestParts& request,
                             const Asked& asked, std::vector<http::Response>&& answers,
                             const MergeAbout& about);

// The first answer that stands for all because some partition failed; nothing if none did. Of a
// thing that only some partitions have, those that have it count.
const http::Response* failure_among(const std::vector<http::Response>& answers);

}  // namespace pawl::front
