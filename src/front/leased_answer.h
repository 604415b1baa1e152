// LeasedAnswer: lets an answer leave only if it is true. What was read in a partition is true while
// this node's lease holds: a node that was stopped and goes on must tell nothing old. A change that
// was committed stays true.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "api/router.h"
#include "http/answer_sink.h"

namespace pawl::front {

// `holds` is asked when the answer comes, and for each piece of a stream.
std::shared_ptr<http::AnswerSink> leased_answer(http::Responder responder, const api::Route& route,
                                                const http::Request& request,
                                                std::function<bool()> holds);

}  // namespace pawl::front
