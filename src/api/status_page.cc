// GET /: a page for people, made of three small files that are part of the binary.
#include "api/app.h"
#include "api/routes.h"
#include "status_assets.h"

namespace pawl::api {
namespace {

// Only our own two files may run or load there, and no page may frame it.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

void serve_asset(Call&& call, std::string_view content_type, std::string_view body) {
  http::Response response;
  response.content_type = content_type;
  response.body = body;
  response.headers = {{"Content-Security-Policy", std::string(kPolicy)},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cache-Control", "no-cache"}};
  call.answer(std::move(response));
}

void status_page(App&, Call&& call) {
  serve_asset(std::move(call), "text/html; charset=utf-8", kStatusHtml);
}
void style(App&, Call&& call) {
  serve_asset(std::move(call), "text/css; charset=utf-8", kStatusCss);
}
void script(App&, Call&& call) {
  serve_asset(std::move(call), "text/javascript; charset=utf-8", kStatusJs);
}

}  // namespace

void add_status_page_routes(Router& router) {
  router.add({"GET", "/", Permission::Public, Routing::Here, status_page});
  router.add({"GET", "/status/status.css", Permission::Public, Routing::Here, style});
  router.add({"GET", "/status/status.js", Permission::Public, Routing::Here, script});
}

}  // namespace pawl::api
