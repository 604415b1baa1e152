#include "link/response_reader.h"

#include <gtest/gtest.h>

namespace pawl::link {
namespace {

std::string story_of(std::string_view bytes, size_t step) {
  ResponseReader reader;
  std::string body;
  std::string pending;
  for (size_t at = 0; at < bytes.size(); at += step) {
    pending.append(bytes.substr(at, step));
    while (!pending.empty()) {
      const size_t taken = reader.feed(pending, body);
      pending.erase(0, taken);
      if (taken == 0 || reader.state() == ResponseReader::State::Bad) break;
    }
  }
  static constexpr const char* kStates[] = {"Head", "Body", "Done", "Bad"};
  return std::to_string(reader.status()) + " " + reader.link_header() + " " + body + " " +
         (reader.keep_alive() ? "kept " : "closed ") + kStates[static_cast<int>(reader.state())] +
         " " + pending;
}

TEST(ResponseReader, ReadsWhatOurServerWrites) {
  const std::string sized =
      "HTTP/1.1 200 OK\r\nContent-Type: x\r\npawl-link: 1 ab\r\nContent-Length: 5\r\n\r\nhellonext";
  const std::string chunked =
      "HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
      "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
  for (size_t step = 1; step <= chunked.size(); ++step) {
    EXPECT_EQ(story_of(sized, step), "200 1 ab hello kept Done next");
    EXPECT_EQ(story_of(chunked, step), "503  abcde closed Done ");
  }
  EXPECT_EQ(story_of("HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n", 100), "400   kept Done ");
}

TEST(ResponseReader, WaitsForTheRest) {
  EXPECT_EQ(story_of("HTTP/1.1 200 OK\r\nContent-Le", 100), "0   kept Head ");
  EXPECT_EQ(story_of("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx", 100), "200  x kept Body ");
}

TEST(ResponseReader, RefusesAllElse) {
  const char* bad[] = {"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
                       "HTTP/1.1 100 Continue\r\nContent-Length: 0\r\n\r\n",
                       "HTTP/1.1 200 OK\r\n\r\n",
                       "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
                       "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
                       "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
                       "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
                       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                       "\r\n\r\n",
                       "HTTP/1.1 200 OK\r\nno colon\r\n\r\n"};
  for (const char* bytes : bad) {
    const std::string told = story_of(bytes, 1000);
    EXPECT_NE(told.find("Bad"), std::string::npos) << bytes << told;
  }
  EXPECT_NE(story_of("HTTP/1.1 200 " + std::string(100'000, 'x'), 1000).find("Bad"),
            std::string::npos);
}

}  // namespace
}  // namespace pawl::link
