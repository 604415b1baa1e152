// HttpClient: HTTP/1.1 for the command line by libcurl, blocking, one connection kept alive.
//
// A reply is read completely (call) or passed on as it arrives (stream). A call that fails after it
// was sent is not repeated: whether it took effect is unknown, and only the caller knows whether
// repeating does harm. A kept connection that the server has closed is detected before anything is
// sent on it.
//
// Errors: InvalidRequest (the URL, a header, the certificates to trust), Unavailable (no
// connection, or it broke), Malformed (the other side speaks no HTTP), TooLarge (a reply past
// body_bytes_max). https:// verifies the certificate and its name. Proxies of the environment are
// not used and redirects are not followed.
//
// Thread: one at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"

namespace pawl::cli {

struct Url {
  bool tls = false;
  std::string host;
  int port = 0;
  std::string prefix;  // path before every request's own, without a final '/'

  std::string text() const;
};
Result<Url> parse_url(std::string_view text);

struct HttpReply {
  int status = 0;
  std::string body = {};
};

struct HttpOptions {
  std::string ca_file = {};  // PEM; empty: the system's
  int connect_ms = 10'000;   // to find the host, connect and agree on TLS
  int silence_s = 120;       // no byte comes
  size_t body_bytes_max = size_t{256} << 20;
};

using Headers = std::vector<std::pair<std::string, std::string>>;

class HttpClient {
 public:
  explicit HttpClient(Url url, HttpOptions options = {});

  // A body is JSON unless the headers have a Content-Type.
  Result<HttpReply> call(std::string_view method, std::string_view path, std::string_view body = {},
                         const Headers& headers = {});
  // GET; `take` gets the body of a 2xx reply piece by piece until it returns false or the stream
  // ends. Any other reply is returned with its body.
  Result<HttpReply> stream(std::string_view path, const Headers& headers,
                           FunctionRef<bool(std::string_view piece)> take);

  const Url& url() const { return url_; }

 private:
  struct Exchange;
  Status set_up(Exchange& exchange, std::string_view method, std::string_view path,
                std::string_view body, const Headers& headers);
  Result<HttpReply> perform(Exchange& exchange);

  Url url_;
  HttpOptions options_;
  std::unique_ptr<void, void (*)(void*)> easy_;  // libcurl's handle, with the kept connection
};

}  // namespace pawl::cli
