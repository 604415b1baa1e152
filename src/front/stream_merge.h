// StreamMerge: the event streams of all partitions as one, and what lists of events need.
//
// A cursor names a position in each partition: "v1." and (partition, position) pairs. Events of one
// partition keep their order; between partitions there is none.
#pragma once

#include "front/passing.h"

namespace pawl::front {

// Answers a request of Routing::Stream.
void answer_stream(Passing& passing, PartitionMap& map, http::RequestParts request,
                   const api::Route& route, http::Responder responder);

}  // namespace pawl::front
