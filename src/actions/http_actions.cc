#include "actions/http_actions.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "actions/blotter.h"
#include "actions/host_policy.h"
#include "actions/http_url.h"
#include "actions/value_text.h"
#include "base/ascii.h"
#include "base/base64.h"
#include "base/named.h"
#include "base/quote.h"
#include "base/url.h"

namespace pawl::actions {
namespace {

constexpr int64_t kHttpTimeoutMs = 30'000;
constexpr int kRedirectsMax = 50;

bool has_header(const HeaderList& headers, std::string_view name) {
  return std::any_of(headers.begin(), headers.end(),
                     [&](const auto& header) { return lower_case(header.first) == name; });
}

// {"a": 1, "b": ["x", "y"]} as a=1&b=x&b=y.
std::string encoded_pairs(const Value::Object& object) {
  std::string out;
  auto add = [&](std::string_view key, const Value& value) {
    if (!out.empty()) out.push_back('&');
    out += percent_encode(key) + "=" + percent_encode(text_of(value));
  };
  for (const auto& [key, value] : object) {
    if (!value.is_array()) {
      add(key, value);
      continue;
    }
    for (const Value& element : value.as_array()) add(key, element);
  }
  return out;
}

std::string with_query(std::string url, const Value* query) {
  if (query == nullptr || query->is_null()) return url;
  std::string pairs = query->is_object() ? encoded_pairs(query->as_object()) : text_of(*query);
  if (!pairs.empty() && (pairs[0] == '?' || pairs[0] == '&')) pairs.erase(0, 1);
  if (pairs.empty()) return url;
  std::string fragment;
  if (size_t hash = url.find('#'); hash != std::string::npos) {
    fragment = url.substr(hash);
    url.resize(hash);
  }
  char mark = url.find('?') == std::string::npos ? '?' : '&';
  if (!url.empty() && (url.back() == '?' || url.back() == '&')) return url + pairs + fragment;
  return url + mark + pairs + fragment;
}

struct Body {
  std::string bytes;
  std::string content_type;
};

Result<Body> body_of(const Value& params) {
  const Value* body = params.find("body");
  if (body == nullptr || body->is_null()) return Body{};
  std::string encoding = string_param(params, "body_encoding", "json");
  if (encoding == "json") return Body{body->json(), "application/json"};
  if (encoding == "text") return Body{text_of(*body), "text/plain"};
  if (encoding == "raw") return Body{text_of(*body), ""};
  if (encoding != "form")
    return Error{ErrorCode::InvalidContent, "body_encoding must be json, form, text or raw"};
  if (body->is_object())
    return Body{encoded_pairs(body->as_object()), "application/x-www-form-urlencoded"};
  if (body->is_string()) return Body{body->as_string(), "application/x-www-form-urlencoded"};
  return Error{ErrorCode::InvalidContent, "a form body must be an object or a string"};
}

Status add_credentials(const Value& params, HeaderList& credentials) {
  const Value* auth = params.find("auth");
  if (auth == nullptr || auth->is_null()) return ok_status();
  std::string type = string_param(*auth, "type");
  if (type == "bearer") {
    credentials.emplace_back("Authorization", "Bearer " + string_param(*auth, "token"));
  } else if (type == "basic") {
    std::string pair = string_param(*auth, "username") + ":" + string_param(*auth, "password");
    credentials.emplace_back("Authorization", "Basic " + base64(pair));
  } else if (type == "api_key") {
    std::string value = string_param(*auth, "header_value", string_param(*auth, "token"));
    credentials.emplace_back(string_param(*auth, "header_name", "X-API-Key"), value);
  } else if (!type.empty()) {
    return Error{ErrorCode::InvalidContent, "auth.type must be bearer, basic or api_key"};
  }
  return ok_status();
}

// A header with a secret in it is a credential, whatever its name.
void add_headers(const ActionRequest& request, HttpRequest& out) {
  const Value* given = request.params.find("headers");
  if (given == nullptr || !given->is_object()) return;
  for (const auto& [name, value] : given->as_object()) {
    bool secret = std::any_of(request.secrets.begin(), request.secrets.end(),
                              [&, header = name](const expr::Secret& one) {
                                return one.param == "headers" && one.member == header;
                              });
    (secret ? out.credentials : out.headers).emplace_back(name, text_of(value));
  }
}

// Every secret in the request must be allowed for every host on the path.
std::function<Status(const std::string&, int)> admission(const std::vector<expr::Secret>& secrets) {
  struct Bound {
    std::string name;
    std::vector<std::string> hosts;
  };
  std::vector<Bound> bound;
  for (const expr::Secret& secret : secrets)
    if (!secret.hosts.empty()) bound.push_back({secret.name, secret.hosts});
  if (bound.empty()) return {};
  return [bound = std::move(bound)](const std::string& host, int port) -> Status {
    for (const Bound& one : bound)
      if (!std::any_of(one.hosts.begin(), one.hosts.end(),
                       [&](const std::string& rule) { return host_matches(rule, host, port); }))
        return secret_denied("the secret " + in_quotes(one.name) + " is not for " + host + ":" +
                             std::to_string(port));
    return ok_status();
  };
}

// admission() checks secrets with hosts; a secret without hosts may go to the first origin only.
std::function<bool(const std::string&)> secret_finder(const std::vector<expr::Secret>& secrets) {
  std::vector<expr::Secret> unbound;
  for (const expr::Secret& secret : secrets)
    if (secret.hosts.empty()) unbound.push_back(secret);
  if (unbound.empty()) return {};
  // Created at the first redirect, and shared by all.
  auto blotter = std::make_shared<std::optional<Blotter>>();
  return [unbound = std::move(unbound), blotter](const std::string& url) {
    if (!*blotter) blotter->emplace(unbound);
    return (*blotter)->text(url) != url;
  };
}

std::string method_of(const ActionRequest& request) {
  if (request.name == "http.get") return "GET";
  if (request.name == "http.post") return "POST";
  std::string method = string_param(request.params, "method", "GET");
  for (char& c : method)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return method;
}

constexpr Named<int> kStandardReasons[] = {{"OK", 200},
                                           {"Created", 201},
                                           {"Accepted", 202},
                                           {"No Content", 204},
                                           {"Partial Content", 206},
                                           {"Moved Permanently", 301},
                                           {"Found", 302},
                                           {"See Other", 303},
                                           {"Not Modified", 304},
                                           {"Temporary Redirect", 307},
                                           {"Permanent Redirect", 308},
                                           {"Bad Request", 400},
                                           {"Unauthorized", 401},
                                           {"Forbidden", 403},
                                           {"Not Found", 404},
                                           {"Method Not Allowed", 405},
                                           {"Request Timeout", 408},
                                           {"Conflict", 409},
                                           {"Gone", 410},
                                           {"Content Too Large", 413},
                                           {"Unsupported Media Type", 415},
                                           {"Unprocessable Content", 422},
                                           {"Too Early", 425},
                                           {"Too Many Requests", 429},
                                           {"Internal Server Error", 500},
                                           {"Bad Gateway", 502},
                                           {"Service Unavailable", 503},
                                           {"Gateway Timeout", 504}};

// Content-Type, X-Request-Id: the case in which definitions name headers.
std::string customary_case(std::string name) {
  bool first = true;
  for (char& c : name) {
    if (first && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    first = c == '-';
  }
  return name;
}

Value body_value(const std::string& body, const std::string& content_type,
                 const std::vector<expr::Secret>& secrets, bool& as_base64) {
  if (body.empty()) return Value();
  if (lower_case(content_type).find("application/json") != std::string::npos)
    if (auto parsed = Value::parse(body); parsed.ok()) return std::move(parsed).value();
  as_base64 = !is_utf8(body);
  return as_base64 ? base64(Blotter(secrets).text(body)) : body;
}

Value output_of(HttpResponse response, const std::vector<expr::Secret>& secrets,
                int64_t duration_ms) {
  Value::Object headers;
  std::string content_type;
  for (const auto& [name, value] : response.headers) {
    std::string key = customary_case(name);
    if (headers.contains(key)) continue;  // the first one counts
    if (name == "content-type") content_type = repaired_utf8(value);
    headers.set(key, repaired_utf8(value));
  }
  std::string reason = response.reason.empty()
                           ? std::string(name_of(kStandardReasons, response.status))
                           : repaired_utf8(response.reason);
  bool as_base64 = false;
  Value body = body_value(response.body, content_type, secrets, as_base64);
  Value::Object output{
      {"status_code", Value(response.status)},
      {"status", Value(std::to_string(response.status) + (reason.empty() ? "" : " " + reason))},
      {"headers", Value(std::move(headers))},
      {"body", std::move(body)},
      {"content_type", Value(content_type)},
      {"duration_ms", Value(duration_ms)}};
  if (as_base64) output.set("body_encoding", "base64");
  return output;
}

ActionOutcome failure_of(const Error& error) {
  auto fail = [&](const char* code, bool retryable) {
    return ActionOutcome::failure(code, error.message, retryable);
  };
  if (was_cancelled(error)) return fail("CANCELLED", false);
  if (timed_out(error)) return fail("TIMEOUT_ERROR", true);
  if (is_secret_denied(error)) return fail("SECRET_DENIED", false);
  if (error.code == ErrorCode::Forbidden) return fail("PERMISSION_DENIED", false);
  if (error.code == ErrorCode::InvalidRequest || error.code == ErrorCode::InvalidContent)
    return fail("VALIDATION_ERROR", false);
  if (error.code == ErrorCode::TooLarge || error.code == ErrorCode::Unsupported)
    return fail("NON_RETRYABLE", false);
  if (error.code == ErrorCode::Overloaded) return fail("ACTION_UNAVAILABLE", true);
  return fail("EXECUTION_ERROR", true);
}

}  // namespace

Result<HttpRequest> http_request_of(const ActionRequest& request, const ActionPolicy& policy) {
  const Value& params = request.params;
  PAWL_TRY(Body body, body_of(params));
  PAWL_TRY(int64_t timeout_ms,
           duration_param(params, "timeout",
                          request.timeout_ms > 0 ? request.timeout_ms : kHttpTimeoutMs));
  if (request.timeout_ms > 0) timeout_ms = std::min(timeout_ms, request.timeout_ms);

  HttpRequest out;
  out.run = Uuid::parse(request.run_id).value_or(Uuid{});
  out.method = method_of(request);
  out.url = with_query(string_param(params, "url"), params.find("query"));
  add_headers(request, out);
  HeaderList own;
  PAWL_TRY_DO(add_credentials(params, own));
  // `auth` takes precedence over a header of the same name, so that only one is sent.
  for (auto& [name, value] : own) {
    for (HeaderList* list : {&out.headers, &out.credentials})
      std::erase_if(*list, [wanted = lower_case(name)](const auto& header) {
        return lower_case(header.first) == wanted;
      });
    out.credentials.emplace_back(std::move(name), std::move(value));
  }
  auto is_set = [&out](std::string_view name) {
    return has_header(out.headers, name) || has_header(out.credentials, name);
  };
  if (!body.content_type.empty() && !is_set("content-type"))
    out.headers.emplace_back("Content-Type", body.content_type);
  if (!request.idempotency_key.empty() && !is_set("idempotency-key"))
    out.headers.emplace_back("Idempotency-Key", request.idempotency_key);
  if (!is_set("user-agent")) out.headers.emplace_back("User-Agent", "pawl");
  out.decompress = !is_set("accept-encoding");
  out.body = std::move(body.bytes);
  out.timeout_ms = timeout_ms;
  out.max_bytes = policy.output_bytes_max;
  out.judge = [&policy](const std::string& host, int port) {
    return judge_host(policy.http, host, port);
  };
  out.admit = admission(request.secrets);
  out.tells_secret = secret_finder(request.secrets);
  out.body_is_secret = std::any_of(request.secrets.begin(), request.secrets.end(),
                                   [](const expr::Secret& one) { return one.param == "body"; });
  out.follow_redirects = bool_param(params, "follow_redirects", true);
  out.redirects_max = static_cast<int>(
      std::clamp<int64_t>(int_param(params, "max_redirects", 10), 0, kRedirectsMax));
  out.verify_tls = !bool_param(params, "tls_skip_verify", false);
  return out;
}

ActionOutcome http_outcome(const ActionRequest& request, Result<HttpResponse> result,
                           int64_t duration_ms) {
  if (!result.ok()) return failure_of(result.error());
  int status = result->status;
  Value output = output_of(std::move(result).value(), request.secrets, duration_ms);
  if (status < 400 || !bool_param(request.params, "fail_on_error_status", false))
    return ActionOutcome::success(std::move(output));
  bool retryable = status >= 500 || status == 408 || status == 425 || status == 429;
  auto outcome = ActionOutcome::failure(retryable ? "EXECUTION_ERROR" : "NON_RETRYABLE",
                                        "the server answered " + output.find("status")->as_string(),
                                        retryable);
  outcome.details = std::move(output);
  return outcome;
}

}  // namespace pawl::actions
