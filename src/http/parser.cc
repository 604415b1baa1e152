#include "http/parser.h"

#include <array>
#include <cstring>

namespace pawl::http {
namespace {

constexpr size_t kMethodBytesMax = 32;
constexpr size_t kRequestIdBytesMax = 128;

constexpr Refusal kBadLine{400, "bad_request_line", "the request line is malformed"};
constexpr Refusal kBadTarget{400, "bad_request_target", "the request target is malformed"};
constexpr Refusal kBadHeader{400, "bad_header", "a header line is malformed"};
constexpr Refusal kBareLineFeed{400, "bad_header", "lines must end in CRLF"};
constexpr Refusal kBadHost{400, "bad_host", "exactly one Host header is required"};
constexpr Refusal kBadLength{400, "bad_content_length", "Content-Length is malformed or repeated"};
constexpr Refusal kBadFraming{400, "bad_framing",
                              "Transfer-Encoding is not allowed here or beside Content-Length"};
constexpr Refusal kTargetTooLong{414, "uri_too_long", "the request target is too long"};
constexpr Refusal kHeadTooLarge{431, "headers_too_large", "the request headers are too large"};
constexpr Refusal kTooManyHeaders{431, "headers_too_many", "there are too many request headers"};
constexpr Refusal kUnknownCoding{501, "unknown_transfer_coding",
                                 "the only transfer coding understood is chunked"};
constexpr Refusal kUnknownEncoding{415, "unknown_content_encoding",
                                   "the only content encoding understood is gzip"};
constexpr Refusal kBadVersion{505, "http_version", "the HTTP version must be 1.0 or 1.1"};
constexpr Refusal kBadExpectation{417, "bad_expectation",
                                  "the only expectation understood is 100-continue"};

enum CharClass : unsigned char { kToken = 1, kTargetChar = 2, kFieldChar = 4, kIdChar = 8 };

constexpr std::array<unsigned char, 256> make_classes() {
  std::array<unsigned char, 256> classes{};
  for (size_t c = 0; c < 256; ++c) {
    const bool alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    unsigned char bits = 0;
    if (alnum) bits |= kToken | kIdChar;
    if (c > 0x20 && c < 0x7f) bits |= kTargetChar;
    if ((c >= 0x20 && c != 0x7f) || c == '\t') bits |= kFieldChar;
    classes[c] = bits;
  }
  for (const char c : {'!', '#', '$', '%', '&', '\'', '*', '+', '-', '.', '^', '_', '`', '|', '~'})
    classes[static_cast<unsigned char>(c)] |= kToken;
  for (const char c : {'.', '_', '-'}) classes[static_cast<unsigned char>(c)] |= kIdChar;
  classes['#'] &= static_cast<unsigned char>(~kTargetChar);  // a fragment never goes on the wire
  return classes;
}
constexpr std::array<unsigned char, 256> kClasses = make_classes();

bool is(char c, CharClass wanted) {
  return (kClasses[static_cast<unsigned char>(c)] & wanted) != 0;
}

bool all(std::string_view text, CharClass wanted) {
  unsigned char bits = wanted;
  for (const char c : text) bits &= kClasses[static_cast<unsigned char>(c)];
  return bits != 0;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Calls visit(item) for each non-empty element of a comma separated list.
void each_item(std::string_view list, auto visit) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    const std::string_view item = trim(list.substr(0, comma));
    if (!item.empty()) visit(item);
    if (comma == std::string_view::npos) return;
    list.remove_prefix(comma + 1);
  }
}

// "gzip", "gzip;q=0.5", "*": yes. "gzip;q=0", "gzip;q=0.000": no.
bool takes_gzip(std::string_view accept_encoding) {
  bool takes = false;
  each_item(accept_encoding, [&](std::string_view item) {
    const size_t semicolon = item.find(';');
    const std::string_view coding = trim(item.substr(0, semicolon));
    if (!equals_ignoring_case(coding, "gzip") && coding != "*") return;
    if (semicolon == std::string_view::npos) {
      takes = true;
      return;
    }
    const std::string_view weight = trim(item.substr(semicolon + 1));
    takes = weight.find_first_of("123456789") != std::string_view::npos;
  });
  return takes;
}

std::optional<Refusal> split_target(Head& head) {
  std::string_view rest = head.target;
  if (rest == "*" && head.method == "OPTIONS") {
    head.path = rest;
    head.query = {};
    return std::nullopt;
  }
  if (rest.front() != '/') {  // absolute-form: scheme://authority/path
    const size_t scheme = rest.find("://");
    if (scheme == std::string_view::npos) return kBadTarget;
    const std::string_view name = rest.substr(0, scheme);
    if (!equals_ignoring_case(name, "http") && !equals_ignoring_case(name, "https")) {
      return kBadTarget;
    }
    rest.remove_prefix(scheme + 3);
    const size_t slash = rest.find_first_of("/?");
    if (slash == 0 || slash == std::string_view::npos || rest[slash] != '/') return kBadTarget;
    head.authority = rest.substr(0, slash);
    rest.remove_prefix(slash);
  }
  const size_t question = rest.find('?');
  head.path = rest.substr(0, question);
  head.query = question == std::string_view::npos ? std::string_view{} : rest.substr(question + 1);
  return std::nullopt;
}

std::optional<Refusal> parse_version(std::string_view version, Head& head) {
  if (version == "HTTP/1.1") {
    head.http10 = false;
  } else if (version == "HTTP/1.0") {
    head.http10 = true;
  } else {
    const bool shaped = version.size() == 8 && version.starts_with("HTTP/") && version[6] == '.' &&
                        version[5] >= '0' && version[5] <= '9' && version[7] >= '0' &&
                        version[7] <= '9';
    return shaped ? kBadVersion : kBadLine;
  }
  head.keep_alive = !head.http10;
  return std::nullopt;
}

std::optional<Refusal> parse_request_line(std::string_view line, const ParserLimits& limits,
                                          Head& head) {
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return kBadLine;
  head.method = line.substr(0, first);
  head.target = line.substr(first + 1, last - first - 1);
  if (head.method.empty() || head.method.size() > kMethodBytesMax || !all(head.method, kToken)) {
    return kBadLine;
  }
  if (head.target.size() > limits.target_bytes_max) return kTargetTooLong;
  if (auto refusal = parse_version(line.substr(last + 1), head)) return refusal;
  if (head.target.empty() || !all(head.target, kTargetChar)) return kBadTarget;
  return split_target(head);
}

std::optional<uint64_t> parse_length(std::string_view digits) {
  if (digits.empty() || digits.size() > 18) return std::nullopt;  // 18 digits fit in 64 bits
  uint64_t value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<uint64_t>(c - '0');
  }
  return value;
}

// The framing headers seen so far; checked when all headers are known.
struct FramingHeaders {
  int hosts = 0;
  int lengths = 0;
  int transfer_encodings = 0;
};

std::optional<Refusal> apply_length(std::string_view value, Head& head) {
  const std::optional<uint64_t> length = parse_length(value);
  if (!length) return kBadLength;
  head.content_length = *length;
  return std::nullopt;
}

std::optional<Refusal> apply_encoding(std::string_view value, Head& head) {
  if (equals_ignoring_case(value, "gzip") || equals_ignoring_case(value, "x-gzip")) {
    head.coding = BodyCoding::Gzip;
    return std::nullopt;
  }
  if (value.empty() || equals_ignoring_case(value, "identity")) return std::nullopt;
  return kUnknownEncoding;
}

std::optional<Refusal> apply_header(const Header& header, FramingHeaders& framing, Head& head) {
  const std::string_view name = header.name;
  const std::string_view value = header.value;
  switch (name.size()) {  // few headers matter here; the length rules out nearly all comparisons
    case 4:
      if (equals_ignoring_case(name, "host")) ++framing.hosts;
      break;
    case 6:
      if (!equals_ignoring_case(name, "expect") || head.http10) break;
      if (!equals_ignoring_case(value, "100-continue")) return kBadExpectation;
      head.expects_continue = true;
      break;
    case 10:
      if (!equals_ignoring_case(name, "connection")) break;
      each_item(value, [&](std::string_view item) {
        if (equals_ignoring_case(item, "close")) head.keep_alive = false;
        if (head.http10 && equals_ignoring_case(item, "keep-alive")) head.keep_alive = true;
      });
      break;
    case 12:
      if (!equals_ignoring_case(name, "x-request-id")) break;
      if (!value.empty() && value.size() <= kRequestIdBytesMax && all(value, kIdChar)) {
        head.request_id = value;
      }
      break;
    case 14:
      if (!equals_ignoring_case(name, "content-length")) break;
      ++framing.lengths;
      return apply_length(value, head);
    case 15:
      if (equals_ignoring_case(name, "accept-encoding")) head.accepts_gzip = takes_gzip(value);
      break;
    case 16:
      if (equals_ignoring_case(name, "content-encoding")) return apply_encoding(value, head);
      break;
    case 17:
      if (!equals_ignoring_case(name, "transfer-encoding")) break;
      ++framing.transfer_encodings;
      head.chunked = equals_ignoring_case(value, "chunked");
      break;
    default:
      break;
  }
  return std::nullopt;
}

// A target in absolute form replaces Host (RFC 9112, 3.2.2), so checks must see the target's host.
void name_host(Head& head) {
  if (head.authority.empty()) return;
  for (Header& header : head.headers)
    if (equals_ignoring_case(header.name, "host")) header.value = head.authority;
}

std::optional<Refusal> judge_framing(const FramingHeaders& framing, const ParserLimits& limits,
                                     Head& head) {
  if (framing.lengths > 1) return kBadLength;
  if (framing.transfer_encodings > 0) {
    if (framing.lengths > 0 || head.http10) return kBadFraming;
    if (framing.transfer_encodings > 1 || !head.chunked) return kUnknownCoding;
  }
  const bool needs_host = !head.http10 || !head.authority.empty();
  if (framing.hosts > 1 || (framing.hosts == 0 && needs_host)) return kBadHost;
  if (head.content_length > limits.body_bytes_max) return kBodyTooLarge;
  return std::nullopt;
}

}  // namespace

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

std::optional<Header> parse_field(std::string_view line) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const Header header{line.substr(0, colon), trim(line.substr(colon + 1))};
  if (!all(header.name, kToken) || !all(header.value, kFieldChar)) return std::nullopt;
  return header;
}

void HeadScanner::reset() {
  scanned_ = 0;
  line_start_ = 0;
  request_line_done_ = false;
  refusal_.reset();
}

// Checks one whole line; false if the head must be refused.
bool HeadScanner::line_ended(std::string_view line) {
  if (line.empty() || line.back() != '\r') {
    refusal_ = kBareLineFeed;
  } else if (!request_line_done_ && line.find(' ') == std::string_view::npos) {
    refusal_ = kBadLine;
  }
  request_line_done_ = true;
  return !refusal_.has_value();
}

size_t HeadScanner::scan(std::string_view bytes) {
  if (refusal_ || bytes.empty()) return 0;
  if (scanned_ == 0 && !is(bytes[0], kToken)) {  // e.g. a TLS hello on a plain port
    refusal_ = kBadLine;
    return 0;
  }
  // The request line holds a method, two blanks and a version beside the target.
  const size_t request_line_bytes_max = limits_->target_bytes_max + kMethodBytesMax + 12;
  while (scanned_ < bytes.size()) {
    const void* found = std::memchr(bytes.data() + scanned_, '\n', bytes.size() - scanned_);
    if (found == nullptr) {
      scanned_ = bytes.size();
      break;
    }
    const size_t at = static_cast<size_t>(static_cast<const char*>(found) - bytes.data());
    if (at >= limits_->header_bytes_max || (!request_line_done_ && at > request_line_bytes_max)) {
      scanned_ = at;
      break;
    }
    const std::string_view line = bytes.substr(line_start_, at - line_start_);
    if (!line_ended(line)) return 0;
    scanned_ = line_start_ = at + 1;
    if (line.size() == 1) return scanned_;
  }
  if (!request_line_done_ && scanned_ > request_line_bytes_max) {
    refusal_ = kTargetTooLong;
  } else if (scanned_ >= limits_->header_bytes_max) {
    refusal_ = kHeadTooLarge;
  }
  return 0;
}

std::optional<Refusal> parse_head(std::string_view bytes, const ParserLimits& limits, Head& head) {
  std::vector<Header> reused = std::move(head.headers);
  reused.clear();
  head = Head{};
  head.headers = std::move(reused);

  size_t end = bytes.find("\r\n");
  if (end == std::string_view::npos) return kBadLine;
  if (auto refusal = parse_request_line(bytes.substr(0, end), limits, head)) return refusal;
  FramingHeaders framing;
  for (size_t start = end + 2;; start = end + 2) {
    const void* found = std::memchr(bytes.data() + start, '\r', bytes.size() - start);
    if (found == nullptr) return kBadHeader;
    end = static_cast<size_t>(static_cast<const char*>(found) - bytes.data());
    if (end + 1 >= bytes.size() || bytes[end + 1] != '\n') return kBadHeader;  // a CR alone
    if (end == start) break;
    if (head.headers.size() == limits.headers_max) return kTooManyHeaders;
    // A folded line starts with a blank, which is no token.
    const std::optional<Header> header = parse_field(bytes.substr(start, end - start));
    if (!header) return kBadHeader;
    head.headers.push_back(*header);
    if (auto refusal = apply_header(*header, framing, head)) return refusal;
  }
  name_host(head);
  return judge_framing(framing, limits, head);
}

}  // namespace pawl::http
