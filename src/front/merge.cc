#include "front/merge.h"

#include <algorithm>

namespace pawl::front {

const http::Response* failure_among(const std::vector<http::Response>& answers) {
  const auto found = [&](auto&& test) -> const http::Response* {
    const auto at = std::find_if(answers.begin(), answers.end(), test);
    return at == answers.end() ? nullptr : &*at;
  };
  if (auto* broken = found([](const http::Response& one) { return one.status >= 500; }))
    return broken;
  if (found([](const http::Response& one) { return one.status < 400; })) return nullptr;
  return found([](const http::Response& one) { return one.status >= 400; });
}

http::RequestParts part_request(const api::Route&, const http::RequestParts& request) {
  return request;
}

http::Response merge_answers(const api::Route&, const http::RequestParts&,
                             std::vector<http::Response>&& answers) {
  if (const http::Response* failure = failure_among(answers)) return *failure;
  return std::move(answers.front());
}

}  // namespace pawl::front
