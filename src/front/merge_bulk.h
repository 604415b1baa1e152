// MergeBulk: one operation on many jobs, done by several partitions, each for its own jobs.
//
// Jobs that are named by their ids are asked of the partitions where they are; so one that is not
// found there is nowhere. A filter is asked of all. If a partition fails, what the others did stays
// done: its number is told ("partitions_failed"). Pure.
#pragma once

#include <vector>

#include "front/gathering.h"
#include "http/answer_sink.h"

namespace pawl::front {

// Who is asked for what. A body that is no good goes to partition 0, which refuses it as a whole.
std::vector<Part> divide_bulk(const std::string& body, uint16_t partitions);

// `answers`: those of the parts. At least one of them did its work.
std::string merge_bulk(const std::string& body, const std::vector<Part>& parts,
                       const std::vector<http::Response>& answers);

}  // namespace pawl::front
