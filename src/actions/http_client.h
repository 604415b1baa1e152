// HttpClient: outgoing HTTP for webhooks and HTTP actions. libcurl's multi interface on one thread.
//
// Every request is bounded in time, in body size and in number: past in_flight_max they wait, past
// waiting_max they are refused. Redirects are not followed, proxies of the environment are not
// used, only http and https are spoken. Unless allow_private is set, a connection is made to public
// addresses only (address_policy.h); a refusal is Forbidden, whatever the name resolved to.
//
// done is called exactly once, on the client's thread: be quick, do not block. The destructor ends
// what is under way with Unavailable. Errors: InvalidRequest (the URL, the method or a header),
// Forbidden (the address), TooLarge (the body), Unavailable (everything that went wrong on the way,
// the message says what), Overloaded (too many wait).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace pawl::actions {

using HeaderList = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method = "GET";
  std::string url = {};
  HeaderList headers = {};
  std::string body = {};
  int64_t timeout_ms = 10'000;  // for the whole exchange, name resolution included
  size_t max_bytes = 1 << 20;   // of the answer's body
  bool cut_body = false;        // a longer answer is cut there instead of failing with TooLarge
  bool allow_private = false;
};

struct HttpResponse {
  int status = 0;
  HeaderList headers = {};  // names in lower case
  std::string body = {};
};

struct HttpClientConfig {
  size_t in_flight_max = 64;
  size_t waiting_max = 10'000;
  size_t connections_kept_max = 64;
};

class HttpClient {
 public:
  using Done = std::function<void(Result<HttpResponse>)>;

  explicit HttpClient(const HttpClientConfig& config = {});
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  ~HttpClient();

  // Any thread. A refusal that needs no network calls done before send returns.
  void send(HttpRequest request, Done done);

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

// What send() refuses without trying: for checking an address when it is configured.
Status check_url(const std::string& url);

// A header that can be sent as it is: a token as its name, a value on one line.
bool is_sendable_header(const std::string& name, const std::string& value);

}  // namespace pawl::actions
