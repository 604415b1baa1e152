// HttpClient: outgoing HTTP for webhooks and HTTP actions. libcurl's multi interface on one thread.
//
// Every request is bounded in time, in body size and in number: past in_flight_max they wait, past
// waiting_max they are refused. Proxies of the environment are not used, only http and https are
// supported, redirects are followed only on request (http_redirect.h). Unless private addresses are
// allowed, connections are made to public addresses only (address_policy.h); a refusal is
// Forbidden. Every hop of a redirect is checked again.
//
// done is called exactly once, on the client's thread: be quick, do not block. The destructor ends
// running requests with Unavailable. Errors: InvalidRequest (the URL, the method, a header or a
// redirect to nowhere), Forbidden (the host or its address), TooLarge (the body), Unsupported (too
// many redirects), Unavailable (any other failure, described in the message; see timed_out and
// was_cancelled), Overloaded (too many wait).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/uuid.h"

namespace pawl::actions {

using HeaderList = std::vector<std::pair<std::string, std::string>>;

enum class HostVerdict {
  Denied,
  PublicOnly,  // as long as it has a public address
  Any,
};

struct HttpRequest {
  std::string method = "GET";
  std::string url = {};
  HeaderList headers = {};
  std::string body = {};
  int64_t timeout_ms = 10'000;  // for the whole exchange, name resolution included
  size_t max_bytes = 1 << 20;   // of the answer's body
  bool cut_body = false;        // a longer answer is cut there instead of failing with TooLarge
  bool allow_private = false;
  // Replaces allow_private if set: called with the URL's host and with the address to connect to,
  // at every hop, on the client's thread.
  std::function<HostVerdict(const std::string& host, int port)> judge = {};
  // Called before anything is sent, at every hop: whether this request may go to that host. Its
  // error is the outcome. On the client's thread.
  std::function<Status(const std::string& host, int port)> admit = {};
  HeaderList credentials = {};  // headers for the first origin only, dropped when a redirect leaves
  // The body may go to the first origin only: a redirect that would send it elsewhere ends with
  // Forbidden (is_secret_denied).
  bool body_is_secret = false;
  // Whether an address contains a secret for the first origin only: a service may repeat the query
  // in its redirect, which then ends with Forbidden (is_secret_denied). Thread as `admit`.
  std::function<bool(const std::string& url)> tells_secret = {};
  bool follow_redirects = false;
  int redirects_max = 10;
  bool verify_tls = true;
  Uuid run = {};            // the run it belongs to, if any
  bool decompress = false;  // accept compression; max_bytes counts decompressed bytes
};

struct HttpResponse {
  int status = 0;
  std::string reason = {};  // as sent; HTTP/2 has none
  HeaderList headers = {};  // names in lower case
  std::string body = {};
};

struct HttpClientConfig {
  size_t in_flight_max = 64;
  size_t waiting_max = 10'000;
  size_t connections_kept_max = 64;
  // Keep connections that may be private. Only for a caller whose requests to one host and port all
  // have the same verdict: a kept connection is reused without checking its address.
  bool keep_private = false;
  std::function<bool()> may_begin = {};  // called before a waiting request begins; null: always
                                         // true
};

class HttpClient {
 public:
  using Done = std::function<void(Result<HttpResponse>)>;

  explicit HttpClient(const HttpClientConfig& config = {});
  HttpClient& operator=(HttpClient&&) = delete;
  ~HttpClient();

  // Any thread. A refusal that needs no network calls done before send returns. The number is for
  // cancel(), unique while the client lives.
  uint64_t send(HttpRequest request, Done done);
  // Any thread. Its done is still called, unless it was called already.
  void cancel(uint64_t number);

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

// The kind of an Unavailable error.
bool timed_out(const Error& error);
bool was_cancelled(const Error& error);

// A Forbidden error because of a secret at a host that may not get it. For `admit` and redirects.
Error secret_denied(std::string message);
bool is_secret_denied(const Error& error);

// The checks of send() that need no network: for checking an address when it is configured.
Status check_url(const std::string& url);

}  // namespace pawl::actions
