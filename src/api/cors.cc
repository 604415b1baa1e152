#include "api/cors.h"

namespace pawl::api {

CorsPolicy::CorsPolicy(const std::vector<std::string>& origins) {
  if (origins.empty()) return;
  lines_of_others_ = "Vary: Origin\r\n";
  for (const std::string& origin : origins)
    lines_[origin] =
        "Access-Control-Allow-Origin: " + origin +
        "\r\nVary: Origin\r\nAccess-Control-Expose-Headers: X-Request-Id, Retry-After, "
        "Location, OJS-Version, Idempotency-Replayed, X-RateLimit-Limit, "
        "X-RateLimit-Remaining, X-RateLimit-Reset\r\n";
}

CorsPolicy::Origin CorsPolicy::judge(const http::Request& request) const {
  if (lines_.empty()) return {};
  auto at = lines_.find(request.header("origin"));
  if (at == lines_.end()) return {false, &lines_of_others_};
  return {true, &at->second};
}

bool CorsPolicy::is_preflight(const http::Request& request) {
  return request.method == "OPTIONS" && request.has_header("access-control-request-method");
}

http::Response CorsPolicy::preflight_answer(const http::Request& request) {
  http::Response response;
  response.status = 204;
  response.headers = {{"Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE"},
                      {"Access-Control-Allow-Headers",
                       "Authorization, Content-Type, Accept, OJS-Version, Idempotency-Key, "
                       "X-OJS-Tenant, X-Request-Id, Last-Event-ID, Cache-Control"},
                      {"Access-Control-Max-Age", "600"}};
  // Chromium sends this when a public page calls an address of the local network.
  if (request.header("access-control-request-private-network") == "true")
    response.headers.emplace_back("Access-Control-Allow-Private-Network", "true");
  return response;
}

}  // namespace pawl::api
