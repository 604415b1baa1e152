#include "http/parser.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "http/gzip.h"
#include "http/request_reader.h"

namespace pawl::http {
namespace {

using namespace std::string_literals;

ParserLimits small_limits() {
  return {.header_bytes_max = 512, .target_bytes_max = 100, .headers_max = 5, .body_bytes_max = 64};
}

// Reads a whole stream given in pieces of `step` bytes: "GET /a?b [body]" per request, then the
// refusal or what the reader still waits for.
std::string story(std::string_view bytes, size_t step, const ParserLimits& limits) {
  RequestIds ids;
  RequestReader reader(limits, "peer:1", ids);
  std::string out;
  std::string pending;
  for (size_t at = 0; at < bytes.size(); at += step) {
    pending.append(bytes.substr(at, step));
    while (!pending.empty()) {
      pending.erase(0, reader.feed(pending));
      if (reader.state() == RequestReader::State::HeadRead) {
        if (reader.head_request().method == "DROP") {
          reader.drop_body(limits.body_bytes_max);
          out.append("dropped; ");
        } else {
          reader.read_body(limits.body_bytes_max);
        }
        if (reader.state() != RequestReader::State::Done &&
            reader.state() != RequestReader::State::Refused) {
          continue;
        }
      }
      if (reader.state() == RequestReader::State::Packed) reader.inflate(limits.body_bytes_max);
      if (reader.state() == RequestReader::State::Refused) {
        return out + std::to_string(reader.refusal().status) + " " + reader.refusal().code;
      }
      if (reader.state() != RequestReader::State::Done) break;
      const Request request = reader.take_request();
      out.append(request.method).append(" ").append(request.path).append("?");
      out.append(request.query).append(" [").append(request.body).append("]; ");
    }
  }
  switch (reader.state()) {
    case RequestReader::State::Idle:
      return out + "idle";
    case RequestReader::State::Head:
      return out + "in head";
    case RequestReader::State::Body:
      return out + "in body";
    case RequestReader::State::Dropping:
      return out + "dropping";
    case RequestReader::State::HeadRead:
    case RequestReader::State::Packed:
    case RequestReader::State::Done:
    case RequestReader::State::Refused:
      break;
  }
  return out + "?";
}

struct Case {
  std::string bytes;
  std::string story;
};

void expect_stories(const std::vector<Case>& cases) {
  const ParserLimits limits = small_limits();
  for (const Case& one : cases) {
    EXPECT_EQ(story(one.bytes, one.bytes.size(), limits), one.story) << one.bytes;
    for (const size_t step : {size_t{1}, size_t{2}, size_t{3}, size_t{7}}) {
      EXPECT_EQ(story(one.bytes, step, limits), one.story) << "in steps of " << step << one.bytes;
    }
  }
}

std::string post(std::string_view headers, std::string_view body) {
  return "POST /p HTTP/1.1\r\nHost: h\r\n" + std::string(headers) + "\r\n" + std::string(body);
}

TEST(Parser, ReadsWhatIsValid) {
  expect_stories({
      {"GET / HTTP/1.1\r\nHost: h\r\n\r\n", "GET /? []; idle"},
      {"\r\nGET /a?b=c%20d HTTP/1.1\r\nhOsT: h\r\n\r\n", "GET /a?b=c%20d []; idle"},
      {"GET /old HTTP/1.0\r\n\r\n", "GET /old? []; idle"},
      {"GET http://host:1/abs?q HTTP/1.1\r\nHost: h\r\n\r\n", "GET /abs?q []; idle"},
      {"GET http://host:1/abs HTTP/1.0\r\nHost: h\r\n\r\n", "GET /abs? []; idle"},
      {"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", "OPTIONS *? []; idle"},
      {"GET / HTTP/1.1\r\nHost:\r\n\r\n", "GET /? []; idle"},
      {post("Content-Length: 5\r\n", "hello"), "POST /p? [hello]; idle"},
      {post("Content-Length: 5\r\n", "hell"), "in body"},
      {post("Content-Length: 0\r\n", ""), "POST /p? []; idle"},
      {post("Transfer-Encoding: Chunked\r\n", "3\r\nabc\r\n00A;x=\"y\"\r\n0123456789\r\n0\r\n\r\n"),
       "POST /p? [abc0123456789]; idle"},
      {post("Transfer-Encoding: chunked\r\n", "1\r\na\r\n0\r\nTrailer: x\r\n\r\n"),
       "POST /p? [a]; idle"},
      {post("Transfer-Encoding: chunked\r\n", "0\r\n\r\n") + "GET /2 HTTP/1.1\r\nHost: h\r\n\r\n",
       "POST /p? []; GET /2? []; idle"},
      {post("Content-Length: 2\r\n", "ab") + post("Content-Length: 2\r\n", "cd") + "G",
       "POST /p? [ab]; POST /p? [cd]; in head"},
      {"DELETE /x HTTP/1.1\r\nHost: h\r\nX: \t spaced\xc3\xa9 \t\r\n\r\n", "DELETE /x? []; idle"},
  });
}

TEST(Parser, RefusesAmbiguousFraming) {
  expect_stories({
      {post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), "400 bad_framing"},
      {post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"), "400 bad_framing"},
      {post("Content-Length: 5\r\nContent-Length: 6\r\n", "hello"), "400 bad_content_length"},
      {post("Content-Length: 5\r\nContent-Length: 5\r\n", "hello"), "400 bad_content_length"},
      {post("Content-Length: 5, 5\r\n", "hello"), "400 bad_content_length"},
      {post("Content-Length: +5\r\n", "hello"), "400 bad_content_length"},
      {post("Content-Length: -1\r\n", ""), "400 bad_content_length"},
      {post("Content-Length: 0x5\r\n", "hello"), "400 bad_content_length"},
      {post("Content-Length:\r\n", ""), "400 bad_content_length"},
      {post("Content-Length: 18446744073709551617\r\n", "h"), "400 bad_content_length"},
      {post("Transfer-Encoding: gzip, chunked\r\n", ""), "501 unknown_transfer_coding"},
      {post("Transfer-Encoding: identity\r\n", ""), "501 unknown_transfer_coding"},
      {post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", ""),
       "501 unknown_transfer_coding"},
      {post("Transfer-Encoding: xchunked\r\n", ""), "501 unknown_transfer_coding"},
      {post("Transfer-Encoding : chunked\r\n", ""), "400 bad_header"},
      {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "400 bad_framing"},
      {"POST / HTTP/1.1\r\nHost: h\r\nX: a\r\n Content-Length: 5\r\n\r\n", "400 bad_header"},
      {"GET / HTTP/1.1\r\nHost: h\r\nX: a\rb\r\n\r\n", "400 bad_header"},
      {"GET / HTTP/1.1\nHost: h\n\n", "400 bad_header"},
      {"GET / HTTP/1.1\r\nHost: h\r\n\n", "400 bad_header"},
      {"GET / HTTP/1.1\r\nHost: h\r\nX: a\0b\r\n\r\n"s, "400 bad_header"},
      {"GET / HTTP/1.1\r\nHost: h\r\nX: a\x01\r\n\r\n", "400 bad_header"},
      {"GET / HTTP/1.1\r\nHost: h\r\nX: a\x7f\r\n\r\n", "400 bad_header"},
      {"GET / HTTP/1.1\r\nHost: h\r\n: a\r\n\r\n", "400 bad_header"},
      {"GET / HTTP/1.1\r\nHost: h\r\nnocolon\r\n\r\n", "400 bad_header"},
  });
}

TEST(Parser, RefusesBadChunks) {
  const auto chunked = [](std::string_view body) {
    return post("Transfer-Encoding: chunked\r\n", body);
  };
  expect_stories({
      {chunked("g\r\n"), "400 bad_chunk"},
      {chunked("\r\n"), "400 bad_chunk"},
      {chunked("-1\r\n"), "400 bad_chunk"},
      {chunked("0x3\r\nabc"), "400 bad_chunk"},
      {chunked("3 \r\nabc"), "400 bad_chunk"},
      {chunked("3\nabc"), "400 bad_chunk"},
      {chunked("3\r\nabcd\r\n"), "400 bad_chunk"},
      {chunked("3\r\nabc\n0\r\n\r\n"), "400 bad_chunk"},
      {chunked("3;a\x01\r\n"), "400 bad_chunk"},
      {chunked("3;a\rb\r\n"), "400 bad_chunk"},
      {chunked("0\r\nbad trailer\r\n\r\n"), "400 bad_chunk"},
      {chunked("0000000000000003\r\nabc"), "400 bad_chunk"},
      {chunked("fffffffffffffff\r\n1"), "413 body_too_large"},
      {chunked("40\r\n" + std::string(64, 'x') + "\r\n1\r\ny"), "413 body_too_large"},
      {chunked("1;" + std::string(5000, 'x')), "400 bad_chunk"},
      {chunked("0\r\n" + std::string(5000, 'x')), "400 bad_chunk"},
  });
}

TEST(Parser, RefusesBadRequestLinesAndHosts) {
  expect_stories({
      {"GET /\r\n\r\n", "400 bad_request_line"},
      {"GET  / HTTP/1.1\r\nHost: h\r\n\r\n", "400 bad_request_target"},
      {"GET / x HTTP/1.1\r\nHost: h\r\n\r\n", "400 bad_request_target"},
      {"G(T / HTTP/1.1\r\nHost: h\r\n\r\n", "400 bad_request_line"},
      {" GET / HTTP/1.1\r\nHost: h\r\n\r\n", "400 bad_request_line"},
      {"\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", "400 bad_request_line"},
      {"\x16\x03\x01", "400 bad_request_line"},
      {"GARBAGE\r\n", "400 bad_request_line"},
      {"GET / http/1.1\r\nHost: h\r\n\r\n", "400 bad_request_line"},
      {"GET / HTTP/1.1 \r\nHost: h\r\n\r\n", "400 bad_request_line"},
      {"PRI * HTTP/2.0\r\n\r\n", "505 http_version"},
      {"GET / HTTP/1.2\r\nHost: h\r\n\r\n", "505 http_version"},
      {"GET * HTTP/1.1\r\nHost: h\r\n\r\n", "400 bad_request_target"},
      {"GET a HTTP/1.1\r\nHost: h\r\n\r\n", "400 bad_request_target"},
      {"GET /#f HTTP/1.1\r\nHost: h\r\n\r\n", "400 bad_request_target"},
      {"GET /\x80 HTTP/1.1\r\nHost: h\r\n\r\n", "400 bad_request_target"},
      {"CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n", "400 bad_request_target"},
      {"GET ftp://h/ HTTP/1.1\r\nHost: h\r\n\r\n", "400 bad_request_target"},
      {"GET / HTTP/1.1\r\n\r\n", "400 bad_host"},
      {"GET http://a/ HTTP/1.0\r\n\r\n", "400 bad_host"},
      {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "400 bad_host"},
      {post("Expect: tea\r\n", ""), "417 bad_expectation"},
      {post("Content-Encoding: br\r\n", ""), "415 unknown_content_encoding"},
  });
}

TEST(Parser, RefusesWhatIsOverALimit) {
  const std::string path(101, 'a');
  const std::string value(600, 'v');
  expect_stories({
      {"GET /" + path + " HTTP/1.1\r\nHost: h\r\n\r\n", "414 uri_too_long"},
      {"GET /" + path + path, "414 uri_too_long"},
      {std::string(300, 'M') + "\r\n", "414 uri_too_long"},
      {"GET / HTTP/1.1\r\nHost: h\r\nX: " + value + "\r\n\r\n", "431 headers_too_large"},
      {"GET / HTTP/1.1\r\nHost: h\r\nX: " + value, "431 headers_too_large"},
      {"GET / HTTP/1.1\r\nHost: h\r\na: 1\r\nb: 2\r\nc: 3\r\nd: 4\r\ne: 5\r\n\r\n",
       "431 headers_too_many"},
      {post("Content-Length: 65\r\n", ""), "413 body_too_large"},
      {post("Content-Length: 64\r\n", ""), "in body"},
  });
}

TEST(Parser, InflatesGzipWithinTheBodyLimit) {
  const auto gzipped = [](std::string_view packed) {
    return post(
        "Content-Encoding: gzip\r\nContent-Length: " + std::to_string(packed.size()) + "\r\n",
        packed);
  };
  const std::string packed = *gzip("plain text");
  expect_stories({
      {gzipped(packed), "POST /p? [plain text]; idle"},
      {gzipped(*gzip(std::string(64, 'x'))), "POST /p? [" + std::string(64, 'x') + "]; idle"},
      {gzipped(*gzip(std::string(65, 'x'))), "413 body_too_large"},
      {gzipped(*gzip(std::string(10'000, 'x'))), "413 body_too_large"},
      {gzipped(packed.substr(0, packed.size() - 1)), "400 bad_gzip"},
      {gzipped(packed + "x"), "400 bad_gzip"},
      {gzipped("not gzip"), "400 bad_gzip"},
  });
}

Head parsed(std::string_view headers) {
  static std::string bytes;
  bytes = "GET / HTTP/1.1\r\nHost: h\r\n" + std::string(headers) + "\r\n";
  Head head;
  EXPECT_FALSE(parse_head(bytes, ParserLimits{}, head).has_value()) << headers;
  return head;
}

// Host means the request's destination, which a target in absolute form determines.
TEST(Parser, TheTargetsHostIsTheHost) {
  auto host = [](std::string bytes) {
    bytes += "\r\n";
    Head head;
    EXPECT_FALSE(parse_head(bytes, ParserLimits{}, head).has_value()) << bytes;
    std::string all;
    for (const Header& header : head.headers)
      all += std::string(header.name) + "=" + std::string(header.value) + " ";
    return all;
  };
  EXPECT_EQ(host("GET http://b:1/x HTTP/1.1\r\nA: 1\r\nhost: a\r\n"), "A=1 host=b:1 ");
  EXPECT_EQ(host("GET /x HTTP/1.1\r\nHost: a\r\n"), "Host=a ");
}

TEST(Parser, UnderstandsConnectionAndEncodingWishes) {
  EXPECT_TRUE(parsed("").keep_alive);
  EXPECT_FALSE(parsed("Connection: upgrade, Close\r\n").keep_alive);
  EXPECT_FALSE(parsed("").accepts_gzip);
  EXPECT_TRUE(parsed("Accept-Encoding: br, GZIP\r\n").accepts_gzip);
  EXPECT_TRUE(parsed("Accept-Encoding: gzip;q=0.5\r\n").accepts_gzip);
  EXPECT_FALSE(parsed("Accept-Encoding: gzip;q=0.0\r\n").accepts_gzip);
  EXPECT_TRUE(parsed("Expect: 100-continue\r\n").expects_continue);
}

TEST(Parser, KeepsOnlySaneRequestIds) {
  EXPECT_EQ(parsed("X-Request-Id: a.B_1-2\r\n").request_id, "a.B_1-2");
  EXPECT_EQ(parsed("X-Request-Id: a b\r\n").request_id, "");
  EXPECT_EQ(parsed("X-Request-Id: <script>\r\n").request_id, "");
  EXPECT_EQ(parsed("X-Request-Id: " + std::string(128, 'a') + "\r\n").request_id.size(), 128U);
  EXPECT_EQ(parsed("X-Request-Id: " + std::string(129, 'a') + "\r\n").request_id, "");
}

// A Request must stay whole wherever it is moved, also when its body is short enough to live inside
// the string object.
TEST(Request, ViewsFollowAMove) {
  const ParserLimits limits;
  RequestIds ids;
  RequestReader reader(limits, "9.9.9.9:9", ids);
  const std::string bytes = post("Content-Length: 2\r\nX-A: one\r\n", "ab");
  const size_t head_bytes = reader.feed(bytes);
  ASSERT_EQ(reader.state(), RequestReader::State::HeadRead);
  reader.read_body(2);
  ASSERT_EQ(reader.feed(std::string_view(bytes).substr(head_bytes)), 2u);
  Request first = reader.take_request();
  const Request moved = std::move(first);
  EXPECT_EQ(moved.body, "ab");
  EXPECT_EQ(moved.body.data(), moved.body_bytes.data());
  EXPECT_EQ(moved.header("x-a"), "one");
  EXPECT_EQ(moved.header("x-b"), "");
  EXPECT_EQ(moved.peer, "9.9.9.9:9");
  EXPECT_EQ(moved.id.substr(0, 4), "req_");
  EXPECT_EQ(moved.id.size(), 40U);
}

}  // namespace
}  // namespace pawl::http
