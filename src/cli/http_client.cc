#include "cli/http_client.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/quote.h"
#include "cli/wire.h"

namespace pawl::cli {
namespace {

constexpr size_t kLineBytesMax = 64 * 1024;
constexpr size_t kHeadersMax = 200;

Error no_http(std::string_view line) {
  return {ErrorCode::Malformed, "this is not the reply of an HTTP server: " + in_quotes(line)};
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

Result<size_t> parse_size(std::string_view text, int base) {
  size_t size = 0;
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), size, base);
  if (failed != std::errc{} || end == text.data() ||
      (end != text.data() + text.size() && *end != ';'))
    return no_http(text);
  return size;
}

Result<HttpReply> read_head(Wire& wire) {
  HttpReply reply;
  do {  // 1xx: the real one follows
    PAWL_TRY(std::string line, wire.read_line(kLineBytesMax));
    if (line.size() < 12 || line.compare(0, 7, "HTTP/1.") != 0) return no_http(line);
    PAWL_TRY(size_t status, parse_size(std::string_view(line).substr(9, 3), 10));
    reply = HttpReply{.status = static_cast<int>(status)};
    while (true) {
      PAWL_TRY(std::string header, wire.read_line(kLineBytesMax));
      if (header.empty()) break;
      size_t colon = header.find(':');
      if (colon == std::string::npos || reply.headers.size() >= kHeadersMax) return no_http(header);
      reply.headers.emplace_back(lower(header.substr(0, colon)),
                                 trimmed(std::string_view(header).substr(colon + 1)));
    }
  } while (reply.status < 200);
  return reply;
}

// Hands over `bytes` bytes. False when the taker wants no more.
Result<bool> read_bytes(Wire& wire, size_t bytes, FunctionRef<bool(std::string_view)> take) {
  while (bytes > 0) {
    PAWL_TRY(std::string some, wire.read_some(bytes));
    if (some.empty())
      return Error{ErrorCode::Unavailable, "the server closed the connection within a reply"};
    bytes -= some.size();
    if (!take(some)) return false;
  }
  return true;
}

Result<bool> read_chunks(Wire& wire, FunctionRef<bool(std::string_view)> take) {
  while (true) {
    PAWL_TRY(std::string line, wire.read_line(kLineBytesMax));
    PAWL_TRY(size_t bytes, parse_size(line, 16));
    if (bytes == 0) break;
    PAWL_TRY(bool go_on, read_bytes(wire, bytes, take));
    if (!go_on) return false;
    PAWL_TRY(std::string end, wire.read_line(kLineBytesMax));
    if (!end.empty()) return no_http(end);
  }
  while (true) {
    PAWL_TRY(std::string trailer, wire.read_line(kLineBytesMax));
    if (trailer.empty()) return true;
  }
}

// Reads the body as its headers say it ends; true if the connection may be used again.
Result<bool> read_body(Wire& wire, const HttpReply& reply,
                       FunctionRef<bool(std::string_view)> take) {
  bool keep = lower(reply.header("connection")) != "close";
  if (reply.status == 204 || reply.status == 304) return keep;
  if (lower(reply.header("transfer-encoding")) == "chunked") {
    PAWL_TRY(bool whole, read_chunks(wire, take));
    return keep && whole;
  }
  if (std::string_view length = reply.header("content-length"); !length.empty()) {
    PAWL_TRY(size_t bytes, parse_size(length, 10));
    PAWL_TRY(bool whole, read_bytes(wire, bytes, take));
    return keep && whole;
  }
  while (true) {  // until the connection ends
    PAWL_TRY(std::string some, wire.read_some(64 * 1024));
    if (some.empty() || !take(some)) return false;
  }
}

}  // namespace

std::string Url::text() const {
  std::string shown = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return (tls ? "https://" : "http://") + shown + ":" + std::to_string(port) + prefix;
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
    std::string name = lower(rest.substr(0, scheme));
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
    auto port = parse_size(authority.substr(colon + 1), 10);
    if (!port.ok() || *port == 0 || *port > 65535) return bad("its port is none");
    url.port = static_cast<int>(*port);
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

std::string_view HttpReply::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key == name) return value;
  return {};
}

HttpClient::HttpClient(Url url, HttpOptions options)
    : url_(std::move(url)), options_(std::move(options)) {}
HttpClient::~HttpClient() = default;

Status HttpClient::connect() {
  if (wire_ != nullptr && !wire_->stale()) return ok_status();
  wire_ = nullptr;
  PAWL_TRY(wire_, Wire::connect(url_.host, url_.port, url_.tls, options_.ca_file,
                                options_.connect_ms, options_.silence_ms));
  return ok_status();
}

Status HttpClient::send(std::string_view method, std::string_view path, std::string_view body,
                        const Headers& headers) {
  PAWL_TRY_DO(connect());
  std::string shown = url_.host.find(':') == std::string::npos ? url_.host : "[" + url_.host + "]";
  std::string head = std::string(method) + ' ' + url_.prefix + std::string(path) +
                     " HTTP/1.1\r\nHost: " + shown + ':' + std::to_string(url_.port) + "\r\n";
  for (const auto& [name, value] : headers) {
    if (value.find_first_of("\r\n") != std::string::npos)
      return Error{ErrorCode::InvalidRequest, "the header " + name + " would break its line"};
    head += name + ": " + value + "\r\n";
  }
  if (!body.empty() || method == "POST" || method == "PUT" || method == "PATCH")
    head +=
        "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  head += "\r\n";
  head += body;
  return wire_->write(head);
}

Result<HttpReply> HttpClient::call(std::string_view method, std::string_view path,
                                   std::string_view body, const Headers& headers) {
  Status sent = send(method, path, body, headers);
  auto reply = sent.ok() ? read_head(*wire_) : Result<HttpReply>(sent.error());
  if (!reply.ok()) {
    wire_ = nullptr;
    return reply;
  }
  bool fits = true;
  auto keep = read_body(*wire_, *reply, [&](std::string_view piece) {
    fits = reply->body.size() + piece.size() <= options_.body_bytes_max;
    if (fits) reply->body += piece;
    return fits;
  });
  if (!keep.ok() || !*keep) wire_ = nullptr;
  if (!keep.ok()) return keep.error();
  if (!fits) return Error{ErrorCode::TooLarge, "the reply is larger than this program reads"};
  return reply;
}

Result<HttpReply> HttpClient::stream(std::string_view path, const Headers& headers,
                                     FunctionRef<bool(std::string_view)> take) {
  Status sent = send("GET", path, {}, headers);
  auto reply = sent.ok() ? read_head(*wire_) : Result<HttpReply>(sent.error());
  if (!reply.ok()) {
    wire_ = nullptr;
    return reply;
  }
  bool good = reply->status / 100 == 2;
  auto keep = read_body(*wire_, *reply, [&](std::string_view piece) {
    if (good) return take(piece);
    reply->body += piece;
    return reply->body.size() <= kLineBytesMax;
  });
  if (!keep.ok() || !*keep) wire_ = nullptr;
  if (!keep.ok()) return keep.error();
  return reply;
}

}  // namespace pawl::cli
