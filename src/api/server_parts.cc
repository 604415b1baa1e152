#include "api/server_parts.h"

#include <cctype>

#include "api/host_name.h"
#include "api/routes.h"

namespace pawl::api {
namespace {

constexpr size_t kIdempotencyKeyMax = 255;

bool sane_tenant(std::string_view tenant) {
  if (tenant.size() > 128) return false;
  for (char c : tenant)
    if (!(std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.'))
      return false;
  return true;
}

// A page in a browser must not be able to drive a server that trusts everyone on the machine.
bool foreign_origin(const http::Request& request) {
  std::string_view origin = request.header("origin");
  if (origin.empty() || origin == "null") return origin == "null";
  size_t at = origin.find("://");
  return at == std::string_view::npos || origin.substr(at + 3) != request.header("host");
}

// Bound of a body that the handler does not use.
constexpr size_t kUnusedBodyBytesMax = 64 * 1024;

Surface surface_of(const Route* route, const http::Request& request) {
  return surface_of_path(route != nullptr ? route->pattern : request.path);
}

}  // namespace

ServerParts::ServerParts(const AppConfig& config, Clock& clock)
    : config_(config), clock_(clock), cors_(config.cors_origins), started_ms_(clock.now_ms()) {
  add_all_routes(router_);
}

const Route* ServerParts::route_of(http::Request& request, std::optional<http::Response>& refusal) {
  // A key that was revoked while the body arrived is no longer accepted.
  if (request.verdict == nullptr || request.verdict_epoch != keys_.epoch()) {
    http::Verdict verdict = judge(request);
    if (verdict.answer) {
      refusal = std::move(verdict.answer);
      return nullptr;
    }
  }
  return static_cast<const Route*>(request.verdict);
}

Status ServerParts::allow(const http::Request& request, const Route& route,
                          bool from_known_origin) const {
  if (route.scope == Permission::Public) return ok_status();
  if (!from_known_origin && foreign_origin(request))
    return Error{ErrorCode::Forbidden, "requests from other origins are not accepted"};
  // HTTP/1.0 may omit it; no browser does.
  if (config_.local_names_only && !keys_.needed() && request.has_header("host") &&
      !is_own_host(request.header("host"), config_.host_names))
    return Error{ErrorCode::Forbidden,
                 "without an API key this server answers to localhost, addresses and its own names "
                 "only; make a key, or name it with --host-name"};
  if (!sane_tenant(request.header("x-ojs-tenant")))
    return Error{ErrorCode::InvalidRequest,
                 "X-OJS-Tenant must be up to 128 letters, digits, '-', '_' or '.'"};
  if (request.header("idempotency-key").size() > kIdempotencyKeyMax)
    return Error{ErrorCode::InvalidRequest, "Idempotency-Key must be at most " +
                                                std::to_string(kIdempotencyKeyMax) + " bytes"};
  std::string_view version = request.header("ojs-version");
  if (surface_of_path(route.pattern) == Surface::Ojs && !version.empty() &&
      version.substr(0, 2) != "1." && version != "1")
    return Error{ErrorCode::Unsupported, "OJS-Version '" + std::string(version) +
                                             "' is not supported; this server speaks 1.0"};
  return check_key(request, route);
}

Status ServerParts::check_key(const http::Request& request, const Route& route) const {
  if (!knows_keys()) return ok_status();
  if (config_.needs_key && !keys_.needed())
    return Error{ErrorCode::Forbidden,
                 "without an API key a server answers on loopback only; make one with 'pawl keys "
                 "create', or start all nodes with --no-auth"};
  return keys_.check(request.header("authorization"), route.scope);
}

http::Verdict ServerParts::judge(http::Request& request) {
  http::Verdict verdict;
  const CorsPolicy::Origin origin = cors_.judge(request);
  verdict.lines = origin.lines;
  if (origin.known && CorsPolicy::is_preflight(request)) {
    verdict.answer = CorsPolicy::preflight_answer(request);
    return verdict;
  }
  request.verdict_epoch = keys_.epoch();  // before the keys are checked
  std::vector<std::string> params;
  std::string others;
  const Route* route = router_.find(request.method, request.path, params, others);
  const auto refuse = [&](const Error& error) {
    verdict.answer = error_response(surface_of(route, request), error, request.id);
  };
  if (route == nullptr && others.empty()) {
    refuse({ErrorCode::NotFound, "no such path"});
  } else if (route == nullptr) {
    refuse({ErrorCode::MethodNotAllowed, "this path does not take " + std::string(request.method)});
    verdict.answer->headers.emplace_back("Allow", others);
  } else if (Status allowed = allow(request, *route, origin.known); !allowed.ok()) {
    metrics_.requests_refused.fetch_add(1, std::memory_order_relaxed);
    refuse(allowed.error());
  } else if (route->scope == Permission::Public || route->method == "GET") {
    verdict.body_bytes_max = kUnusedBodyBytesMax;
  }
  request.verdict = route;
  return verdict;
}

}  // namespace pawl::api
