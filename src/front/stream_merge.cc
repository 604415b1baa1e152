#include "front/stream_merge.h"

#include "front/sinks.h"

namespace pawl::front {

void answer_stream(Passing& passing, PartitionMap&, http::RequestParts request,
                   const api::Route& route, http::Responder responder) {
  Errand errand{.request = std::move(request), .route = &route};
  errand.sink = std::make_shared<ClientSink>(std::move(responder));
  errand.waits = true;
  passing.pass(std::move(errand));
}

}  // namespace pawl::front
