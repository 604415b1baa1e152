#include "front/queue_removal.h"

#include "api/ojs/render_queue.h"
#include "api/part_call.h"
#include "base/json.h"
#include "front/gathering.h"
#include "front/merge.h"
#include "front/request_edit.h"

namespace pawl::front {
namespace {

uint64_t unfinished_in(const std::vector<http::Response>& answers) {
  uint64_t sum = 0;
  for (const http::Response& answer : answers) {
    auto doc = json::parse(answer.body);
    auto count = doc.ok() ? doc->root().find("unfinished") : std::nullopt;
    if (count) sum += static_cast<uint64_t>(count->as_int().value_or(0));
  }
  return sum;
}

}  // namespace

bool removes_queue(const api::Route& route) {
  return route.method == "DELETE" && route.pattern == "/ojs/v1/queues/{q}";
}

void remove_queue(Passing& passing, uint16_t partitions, const api::Route& route,
                  http::RequestParts request, std::vector<std::string> params,
                  std::shared_ptr<http::AnswerSink> sink) {
  http::RequestParts look = request;
  mark_part(look, api::kPartLook);
  // What was only looked at must not be the answer to the same call again.
  drop_header(look, "idempotency-key");
  std::vector<Part> parts;
  for (uint16_t k = 0; k < partitions; ++k) parts.push_back({k, request.body});
  gather(passing, look, route, std::move(parts),
         [&passing, &route, request = std::move(request), params = std::move(params),
          sink = std::move(sink)](std::vector<http::Response>&& answers) mutable {
           if (const http::Response* failure = failure_among(answers))
             return sink->answer(http::Response(*failure));
           if (const uint64_t unfinished = unfinished_in(answers); unfinished != 0)
             return sink->answer(call_of(route, request, params)
                                     .failure(api::queue_in_use(params.front(), unfinished)));
           mark_part(request, api::kPartAct);
           Errand errand{.request = std::move(request), .route = &route};
           errand.sink = std::move(sink);
           passing.pass(std::move(errand));
         });
}

}  // namespace pawl::front
