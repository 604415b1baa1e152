// GET /: a page for people, made of three small files that are part of the binary.
#include "api/node_pages.h"
#include "api/routes.h"
#include "status_assets.h"

namespace pawl::api {
namespace {

// Only our own two files may run or load there, and no page may frame it.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

http::Response asset(std::string_view content_type, std::string_view body) {
  http::Response response;
  response.content_type = content_type;
  response.body = body;
  response.headers = {{"Content-Security-Policy", std::string(kPolicy)},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cache-Control", "no-cache"}};
  return response;
}

}  // namespace

http::Response status_page(const NodeParts&, Surface) {
  return asset("text/html; charset=utf-8", kStatusHtml);
}
http::Response status_style(const NodeParts&, Surface) {
  return asset("text/css; charset=utf-8", kStatusCss);
}
http::Response status_script(const NodeParts&, Surface) {
  return asset("text/javascript; charset=utf-8", kStatusJs);
}

void add_status_page_routes(Router& router) {
  router.add({"GET", "/", Permission::Public, Routing::Here, answer_node_page});
  router.add({"GET", "/status/status.css", Permission::Public, Routing::Here, answer_node_page});
  router.add({"GET", "/status/status.js", Permission::Public, Routing::Here, answer_node_page});
}

}  // namespace pawl::api
