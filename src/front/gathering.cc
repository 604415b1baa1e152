#include "front/gathering.h"

#include <atomic>
#include <utility>

#include "front/sinks.h"

namespace pawl::front {

void gather(Passing& passing, const http::RequestParts& request, const api::Route& route,
            std::vector<Part> parts, Gathered done) {
  struct Open {
    std::vector<http::Response> answers;
    std::atomic<size_t> missing;
    Gathered done;
  };
  auto open = std::make_shared<Open>();
  open->answers.resize(parts.size());
  open->missing = parts.size();
  open->done = std::move(done);
  for (size_t i = 0; i < parts.size(); ++i) {
    Errand errand{.request = request, .route = &route};
    errand.partition = parts[i].partition;
    errand.request.body = std::move(parts[i].body);
    if (!parts[i].target.empty()) errand.request.target = std::move(parts[i].target);
    errand.sink = std::make_shared<AnswerTo>([open, i](http::Response&& answer) {
      open->answers[i] = std::move(answer);
      if (open->missing.fetch_sub(1) == 1) open->done(std::move(open->answers));
    });
    passing.pass(std::move(errand));
  }
}

}  // namespace pawl::front
