// The head of a request: bytes → Head, or the reason to refuse it. Pure; knows no socket.
//
// Strict where leniency lets two parsers disagree about where a request ends (request smuggling):
// lines end in CRLF only, no folded lines, no blank before the colon, no control bytes, one Host,
// at most one Content-Length and never beside Transfer-Encoding, whose only value is "chunked".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "http/request.h"

namespace pawl::http {

struct ParserLimits {
  size_t header_bytes_max = 32 * 1024;
  size_t target_bytes_max = 8 * 1024;
  size_t headers_max = 100;
  size_t body_bytes_max = 64 * 1024 * 1024;
};

// Why a request is refused: the status, and the code and message of the JSON error.
struct Refusal {
  int status;
  const char* code;
  const char* message;
};

inline constexpr Refusal kBodyTooLarge{413, "body_too_large", "the request body is too large"};

// The request budget is exhausted. Nothing of this request was done.
inline constexpr Refusal kNoRoom{503, "overloaded",
                                 "the server holds as many request bytes as it may; try again"};

enum class BodyCoding : unsigned char { Plain, Gzip };

// Views point into the parsed bytes.
struct Head {
  std::string_view method;
  std::string_view target;
  std::string_view authority;  // of a target in absolute form, and then Host's value too
  std::string_view path;
  std::string_view query;
  std::string_view request_id;  // X-Request-ID if sane
  std::vector<Header> headers;
  uint64_t content_length = 0;
  bool chunked = false;
  bool http10 = false;
  bool keep_alive = true;
  bool expects_continue = false;
  bool accepts_gzip = false;
  BodyCoding coding = BodyCoding::Plain;
};

// Finds the end of a head in bytes that arrive piece by piece, looking at each byte once, and
// refuses early what cannot become a head. `bytes` must always start at the first byte of the
// request.
class HeadScanner {
 public:
  explicit HeadScanner(const ParserLimits& limits) : limits_(&limits) {}

  // The length of the head including its empty line, 0 if more bytes are needed.
  size_t scan(std::string_view bytes);
  const std::optional<Refusal>& refusal() const { return refusal_; }
  void reset();

 private:
  bool line_ended(std::string_view line);

  const ParserLimits* limits_;
  size_t scanned_ = 0;
  size_t line_start_ = 0;
  bool request_line_done_ = false;
  std::optional<Refusal> refusal_;
};

// Parses what HeadScanner found, its empty line included. `head` is reused between requests.
std::optional<Refusal> parse_head(std::string_view bytes, const ParserLimits& limits, Head& head);

// One "name: value" line without its CRLF; the value loses surrounding blanks.
std::optional<Header> parse_field(std::string_view line);

bool equals_ignoring_case(std::string_view a, std::string_view b);

}  // namespace pawl::http
