// Request: one parsed request that owns its bytes.
//
// Every view points into memory the Request owns, so it may be moved to another thread and kept
// until the answer is given (or longer). Header names compare without regard to case; a header sent
// twice is found by its first value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace pawl::http {

struct Header {
  std::string_view name;
  std::string_view value;
};

struct Request {
  std::string_view method;
  std::string_view target;  // as sent
  std::string_view path;    // raw: still percent-encoded, never empty
  std::string_view query;   // raw, without '?'
  std::string_view body;    // without chunk framing; a gzip body is already inflated
  std::string_view peer;    // "ip:port", "[ip6]:port"
  std::string_view id;      // the client's X-Request-ID if it is sane, else "req_" + UUIDv7
  std::span<const Header> headers;

  Request() = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  Request(Request&& other) noexcept;
  Request& operator=(Request&& other) noexcept;

  // The value without surrounding blanks, or an empty view when it was not sent.
  std::string_view header(std::string_view name) const;
  bool has_header(std::string_view name) const;

  // Data from ServerConfig::judge for the handler.
  const void* verdict = nullptr;
  uint64_t verdict_epoch = 0;

  // The memory behind the views: filled by the server, not for handlers.
  std::unique_ptr<std::byte[]> head_bytes;
  std::string body_bytes;
};

}  // namespace pawl::http
