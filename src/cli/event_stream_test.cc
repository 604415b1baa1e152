#include "cli/event_stream.h"

#include <gtest/gtest.h>

namespace pawl::cli {
namespace {

std::string told(std::string_view bytes, size_t piece) {
  std::string all;
  EventStream stream([&](const ServerEvent& event) {
    all += event.id + "/" + event.type + "/" + event.data + "|";
  });
  for (size_t at = 0; at < bytes.size(); at += piece) stream.feed(bytes.substr(at, piece));
  return all;
}

// The same events however the bytes were cut on their way.
TEST(EventStream, CutsAnywhere) {
  std::string_view bytes =
      ": hello\n\nid: 7\nevent: job\ndata: a\ndata: b\n\ndata:{}\r\n\r\nid: 8\n\ndata: "
      "unfinished\n";
  for (size_t piece : {1, 2, 3, 7, 1000})
    EXPECT_EQ(told(bytes, piece), "7/job/a\nb|//{}|") << piece;
}

TEST(EventStream, ResetForgetsTheHalf) {
  std::string all;
  EventStream stream([&](const ServerEvent& event) { all += event.data; });
  stream.feed("data: old\nda");
  stream.reset();
  stream.feed("data: new\n\n");
  EXPECT_EQ(all, "new");
}

}  // namespace
}  // namespace pawl::cli
