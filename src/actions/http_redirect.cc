#include "actions/http_redirect.h"

#include <strings.h>

#include <algorithm>

#include "base/ascii.h"

namespace pawl::actions {
namespace {

const std::string* find_header(const HeaderList& headers, std::string_view name) {
  for (const auto& [key, value] : headers)
    if (key == name) return &value;
  return nullptr;
}

void drop_headers(HeaderList& headers, auto predicate) {
  headers.erase(std::remove_if(headers.begin(), headers.end(),
                               [&](const auto& header) { return predicate(header.first); }),
                headers.end());
}

}  // namespace

bool is_redirect(const HttpResponse& response) {
  switch (response.status) {
    case 301:
    case 302:
    case 303:
    case 307:
    case 308:
      return find_header(response.headers, "location") != nullptr;
    default:
      return false;
  }
}

bool may_hold_credentials(const std::string& header_name) {
  std::string name = lower_case(header_name);
  if (name == "idempotency-key") return false;
  for (std::string_view part : {"auth", "cookie", "token", "key", "secret", "passw", "signature"})
    if (name.find(part) != std::string::npos) return true;
  return false;
}

bool logs_the_connection_in(const HttpRequest& request) {
  for (const HeaderList* list : {&request.headers, &request.credentials})
    for (const auto& [name, value] : *list) {
      if (::strcasecmp(name.c_str(), "authorization") != 0) continue;
      size_t from = std::min(value.find_first_not_of(" \t"), value.size());
      if (::strncasecmp(value.c_str() + from, "ntlm", 4) == 0 ||
          ::strncasecmp(value.c_str() + from, "negotiate", 9) == 0)
        return true;
    }
  return false;
}

Status follow_redirect(HttpRequest& request, const HttpResponse& response) {
  PAWL_TRY(HttpUrl from, HttpUrl::parse(request.url));
  PAWL_TRY(HttpUrl to, from.follow(*find_header(response.headers, "location")));
  bool repeats = response.status == 307 || response.status == 308;
  if (!repeats && request.method != "GET" && request.method != "HEAD") {
    request.method = "GET";
    request.body.clear();
    drop_headers(request.headers, [](const std::string& name) {
      return lower_case(name).compare(0, 8, "content-") == 0;
    });
  }
  if (!from.same_origin(to)) {
    if (request.body_is_secret && !request.body.empty())
      return secret_denied("the redirect to " + to.authority() +
                           " asks for the body again, which holds a secret for " +
                           from.authority());
    if (request.tells_secret && request.tells_secret(to.text()))
      return secret_denied("the redirect to " + to.authority() + " repeats a secret for " +
                           from.authority() + " in its address");
    request.credentials.clear();
    drop_headers(request.headers, may_hold_credentials);
  }
  request.url = to.text();
  return ok_status();
}

}  // namespace pawl::actions
