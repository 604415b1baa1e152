// Removal of queues: DELETE of a queue. All partitions tell what they hold of it; if that is
// nothing, partition 0 removes its settings, which is copied everywhere. Thread: any.
#pragma once

#include <memory>

#include "front/passing.h"

namespace pawl::front {

bool removes_queue(const api::Route& route);
void remove_queue(Passing& passing, uint16_t partitions, const api::Route& route,
                  http::RequestParts request, std::vector<std::string> params,
                  std::shared_ptr<http::AnswerSink> sink);

}  // namespace pawl::front
