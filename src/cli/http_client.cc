#include "cli/http_client.h"

#include <curl/curl.h>
#include <sys/socket.h>

#include <cstdlib>
#include <cstring>

#include "base/ascii.h"
#include "base/quote.h"
#include "base/read_number.h"

namespace pawl::cli {
namespace {

std::string bracketed(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

// A command that `pawl worker exec` starts must not inherit the connection.
curl_socket_t open_socket(void*, curlsocktype, curl_sockaddr* address) {
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

CURL* new_handle() {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  PAWL_CHECK(started == CURLE_OK);
  CURL* easy = curl_easy_init();
  PAWL_CHECK(easy != nullptr);
  return easy;
}

}  // namespace

std::string Url::text() const {
  return (tls ? "https://" : "http://") + bracketed(host) + ":" + std::to_string(port) + prefix;
}

Result<Url> parse_url(std::string_view text) {
  auto bad = [&](std::string_view why) {
    return Error{ErrorCode::InvalidRequest,
                 in_quotes(text) + " is no URL of a server: " + std::string(why)};
  };
  for (char c : text)
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f)
      return bad("it has a blank or a control character");
  Url url;
  std::string_view rest = text;
  size_t scheme = rest.find("://");
  if (scheme != std::string_view::npos) {
    std::string name = lower_case(std::string(rest.substr(0, scheme)));
    if (name != "http" && name != "https") return bad("only http and https are spoken");
    url.tls = name == "https";
    rest.remove_prefix(scheme + 3);
  }
  std::string_view authority = rest.substr(0, rest.find('/'));
  url.prefix = rest.substr(authority.size());
  while (!url.prefix.empty() && url.prefix.back() == '/') url.prefix.pop_back();
  if (url.prefix.find_first_of("?#") != std::string::npos ||
      authority.find_first_of("?#") != std::string_view::npos)
    return bad("it has a query or a fragment");
  if (authority.find('@') != std::string_view::npos) return bad("use --key for credentials");
  size_t colon = authority.rfind(':');
  size_t bracket = authority.rfind(']');
  if (colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket)) {
    std::string_view port = authority.substr(colon + 1);
    if (!read_number(port, url.port) || url.port < 1 || url.port > 65535)
      return bad("its port is none");
    authority = authority.substr(0, colon);
  } else {
    url.port = url.tls ? 443 : 80;
  }
  if (authority.size() > 2 && authority.front() == '[')
    authority = authority.substr(1, authority.size() - 2);
  if (authority.empty()) return bad("it names no host");
  url.host = authority;
  return url;
}

// One request and its reply so far.
struct HttpClient::Exchange {
  CURL* const easy;
  const size_t body_bytes_max;
  const FunctionRef<bool(std::string_view)>* const take = nullptr;  // of a stream
  curl_slist* headers = nullptr;
  HttpReply reply = {};
  bool sent = false;
  bool stopped = false;    // `take` wanted no more
  bool too_large = false;  // the body
  char error[CURL_ERROR_SIZE] = {};

  ~Exchange() {
    curl_easy_reset(easy);  // drops this exchange, keeps the connection
    curl_slist_free_all(headers);
  }

  void add_header(const std::string& line) {
    curl_slist* longer = curl_slist_append(headers, line.c_str());
    PAWL_CHECK(longer != nullptr);
    headers = longer;
  }

  // libcurl would send a request again when a kept connection ends without a reply.
  static int before_sending(void* user, char*, char*, int, int) {
    bool again = std::exchange(static_cast<Exchange*>(user)->sent, true);
    return again ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
  }

  static size_t on_body(char* bytes, size_t, size_t count, void* user) {
    Exchange& self = *static_cast<Exchange*>(user);
    long status = 0;
    curl_easy_getinfo(self.easy, CURLINFO_RESPONSE_CODE, &status);
    if (self.take != nullptr && status / 100 == 2) {
      self.stopped = !(*self.take)({bytes, count});
      return self.stopped ? 0 : count;
    }
    self.too_large = count > self.body_bytes_max - self.reply.body.size();
    if (self.too_large) return 0;
    self.reply.body.append(bytes, count);
    return count;
  }

  // The error when there is no reply.
  Error failure(CURLcode code, const Url& url, const HttpOptions& options) const {
    const std::string said = error[0] != '\0' ? error : curl_easy_strerror(code);
    const std::string where = url.host + ":" + std::to_string(url.port);
    if (too_large) return {ErrorCode::TooLarge, "the reply is larger than this program reads"};
    if (code == CURLE_URL_MALFORMAT) return {ErrorCode::InvalidRequest, url.text() + ": " + said};
    if (code == CURLE_SSL_CACERT_BADFILE)
      return {ErrorCode::InvalidRequest, "cannot read certificates from " + options.ca_file};
    if (code == CURLE_COULDNT_RESOLVE_HOST)
      return {ErrorCode::Unavailable, "cannot find " + url.host + ": the name has no address"};
    if (code == CURLE_COULDNT_CONNECT) {
      long why = 0;
      curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &why);
      return {ErrorCode::Unavailable, "cannot connect to " + where + ": " +
                                          (why != 0 ? std::strerror(static_cast<int>(why)) : said)};
    }
    if (code == CURLE_OPERATION_TIMEDOUT && !sent)
      return {ErrorCode::Unavailable, "cannot connect to " + where + ": " + said};
    if (code == CURLE_OPERATION_TIMEDOUT)
      return {ErrorCode::Unavailable, "the connection broke: the server is silent"};
    if (url.tls && !sent) return {ErrorCode::Unavailable, "no TLS with " + url.host + ": " + said};
    if (code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_WEIRD_SERVER_REPLY)
      return {ErrorCode::Malformed, "this is not the reply of an HTTP server: " + said};
    if (code == CURLE_ABORTED_BY_CALLBACK || code == CURLE_GOT_NOTHING)
      return {ErrorCode::Unavailable, "the connection broke: the server closed it"};
    return {ErrorCode::Unavailable, "the connection broke: " + said};
  }
};

HttpClient::HttpClient(Url url, HttpOptions options)
    : url_(std::move(url)), options_(std::move(options)), easy_(new_handle(), curl_easy_cleanup) {}

Status HttpClient::set_up(Exchange& exchange, std::string_view method, std::string_view path,
                          std::string_view body, const Headers& headers) {
  CURLcode code = CURLE_OK;
  auto set = [&](CURLoption option, auto value) {
    if (code == CURLE_OK) code = curl_easy_setopt(easy_.get(), option, value);
  };
  set(CURLOPT_URL, (url_.text() + std::string(path)).c_str());
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_CUSTOMREQUEST, std::string(method).c_str());
  set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  set(CURLOPT_PROXY, "");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_ERRORBUFFER, exchange.error);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options_.connect_ms));
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(options_.silence_s));
  set(CURLOPT_OPENSOCKETFUNCTION, open_socket);
  set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
  // OpenSSL's own variables, which libcurl leaves to the program.
  if (const char* file = std::getenv("SSL_CERT_FILE")) set(CURLOPT_CAINFO, file);
  if (const char* folder = std::getenv("SSL_CERT_DIR")) set(CURLOPT_CAPATH, folder);
  if (!options_.ca_file.empty()) {
    set(CURLOPT_CAINFO, options_.ca_file.c_str());
    set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));  // nor the system's beside it
  }
  set(CURLOPT_PREREQFUNCTION, Exchange::before_sending);
  set(CURLOPT_PREREQDATA, &exchange);
  set(CURLOPT_WRITEFUNCTION, Exchange::on_body);
  set(CURLOPT_WRITEDATA, &exchange);
  bool typed = false;
  for (const auto& [name, value] : headers) {
    typed = typed || name == "Content-Type";
    if (value.find_first_of("\r\n") != std::string::npos)
      return Error{ErrorCode::InvalidRequest, "the header " + name + " would break its line"};
    exchange.add_header(name + ": " + value);
  }
  if (!body.empty() || method == "POST" || method == "PUT" || method == "PATCH") {
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    set(CURLOPT_POSTFIELDS, body.empty() ? "" : body.data());
    if (!typed) exchange.add_header("Content-Type: application/json");
    exchange.add_header("Expect:");
  }
  set(CURLOPT_HTTPHEADER, exchange.headers);
  if (code == CURLE_OK) return ok_status();
  return Error{ErrorCode::InvalidRequest,
               std::string("the request cannot be sent: ") + curl_easy_strerror(code)};
}

Result<HttpReply> HttpClient::perform(Exchange& exchange) {
  CURLcode code = curl_easy_perform(exchange.easy);
  if (code != CURLE_OK && !exchange.stopped) return exchange.failure(code, url_, options_);
  long status = 0;
  curl_easy_getinfo(exchange.easy, CURLINFO_RESPONSE_CODE, &status);
  exchange.reply.status = static_cast<int>(status);
  return std::move(exchange.reply);
}

Result<HttpReply> HttpClient::call(std::string_view method, std::string_view path,
                                   std::string_view body, const Headers& headers) {
  Exchange exchange{easy_.get(), options_.body_bytes_max};
  PAWL_TRY_DO(set_up(exchange, method, path, body, headers));
  return perform(exchange);
}

Result<HttpReply> HttpClient::stream(std::string_view path, const Headers& headers,
                                     FunctionRef<bool(std::string_view)> take) {
  Exchange exchange{easy_.get(), options_.body_bytes_max, &take};
  PAWL_TRY_DO(set_up(exchange, "GET", path, {}, headers));
  return perform(exchange);
}

}  // namespace pawl::cli
