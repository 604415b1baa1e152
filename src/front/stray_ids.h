// StrayIds: things whose id does not say where they are. An id with zeros in its last 16 bits is
// one of partition 0, or one that was made without a partition, as those of instances of worlds
// are: these live with their world. So what partition 0 does not have is asked of all others, and
// the one that has it answers. Thread: any.
#pragma once

#include <memory>

#include "front/passing.h"
#include "front/placement.h"

namespace pawl::front {

// Whether a call of Routing::ById may be about such a thing.
bool may_be_stray(const Placed& call);

void ask_for_stray(Passing& passing, uint16_t partitions, const api::Route& route,
                   http::RequestParts request, std::shared_ptr<http::AnswerSink> client);

}  // namespace pawl::front
