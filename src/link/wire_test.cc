#include "link/wire.h"

#include <gtest/gtest.h>

namespace pawl::link {
namespace {

std::string batch_bytes(int calls) {
  std::string bytes;
  append_batch_head(bytes, {"a", "in-a", "in-b", 17});
  for (int i = 0; i < calls; ++i) {
    append_call(bytes, {.partition = 65'535,
                        .epoch = 1ULL << 60,
                        .hops = 2,
                        .request = {.method = "POST",
                                    .target = "/v1?x",
                                    .headers = {{"A", "b"}, {"C", std::string("\0\xff", 2)}},
                                    .body = "body " + std::to_string(i),
                                    .peer = "p",
                                    .id = "r"}});
  }
  return bytes;
}

TEST(Wire, ABatchSurvives) {
  const std::string bytes = batch_bytes(3);
  const auto batch = read_batch(bytes);
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->head.sender, "a");
  EXPECT_EQ(batch->head.sender_incarnation, "in-a");
  EXPECT_EQ(batch->head.receiver_incarnation, "in-b");
  EXPECT_EQ(batch->head.counter, 17U);
  ASSERT_EQ(batch->calls.size(), 3U);
  EXPECT_EQ(batch->calls[2].head.partition, 65'535);
  EXPECT_EQ(batch->calls[2].head.epoch, 1ULL << 60);
  EXPECT_EQ(batch->calls[2].head.hops, 2);
  const http::RequestParts parts = parts_of(batch->calls[2]);
  EXPECT_EQ(parts.method + parts.target + parts.body + parts.peer + parts.id, "POST/v1?xbody 2pr");
  ASSERT_EQ(parts.headers.size(), 2U);
  EXPECT_EQ(parts.headers[1].second, std::string("\0\xff", 2));
}

TEST(Wire, ABatchThatIsCutOffOrEmptyIsNone) {
  const std::string bytes = batch_bytes(1);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(read_batch(bytes.substr(0, size))) << size;
  EXPECT_TRUE(read_batch(bytes));
  EXPECT_FALSE(read_batch(batch_bytes(kBatchCallsMax + 1)));
}

std::string all_frames() {
  http::Response response{.status = 404,
                          .headers = {{"X", "y"}},
                          .content_type = "text/plain",
                          .body = "hello",
                          .close = true};
  return frame_head(FrameKind::Answer, 3, response) + "hello" +
         frame_head(FrameKind::StreamHead, 255, http::Response{.body = "f"}) + "f" +
         frame_head(FrameKind::Chunk, 255, 2) + "ch" + frame_head(FrameKind::StreamEnd, 255, 0) +
         frame_head(FrameKind::NotMine, 0, 0);
}

std::string told_of(std::string_view bytes, size_t step, bool& good) {
  FrameReader reader;
  std::string told;
  good = true;
  for (size_t at = 0; at < bytes.size() && good; at += step) {
    good = reader.feed(bytes.substr(at, step), [&](Frame&& frame) {
      told += std::to_string(static_cast<int>(frame.kind)) + " " + std::to_string(frame.number) +
              " " + std::to_string(frame.response.status) + " " + frame.response.content_type +
              " " + frame.response.body + "|";
    });
  }
  good = good && reader.between_frames();
  return told;
}

TEST(Wire, FramesAreTheSameHoweverTheyAreCut) {
  const std::string bytes = all_frames();
  bool good = false;
  for (size_t step = 1; step <= bytes.size(); ++step) {
    EXPECT_EQ(told_of(bytes, step, good),
              "1 3 404 text/plain hello|2 255 200  f|3 255 200  ch|4 255 200  |5 0 200  |");
    EXPECT_TRUE(good);
  }
}

TEST(Wire, BytesThatAreNoFramesAreRefused) {
  bool good = true;
  told_of(std::string("\x07\x00\x00\x00", 4), 4, good);
  EXPECT_FALSE(good);  // no such kind
  told_of(frame_head(FrameKind::Chunk, kBatchCallsMax, 0), 100, good);
  EXPECT_FALSE(good);  // no such call
  told_of(frame_head(FrameKind::Chunk, 0, kAnswerBytesMax + 1), 100, good);
  EXPECT_FALSE(good);
  told_of(frame_head(FrameKind::Answer, 0, http::Response{.status = 99}), 100, good);
  EXPECT_FALSE(good);
  told_of(std::string("\x01\x00\x00\xff\xff\xff\x7f", 7) + std::string(2'000'000, 'h'), 65'536,
          good);
  EXPECT_FALSE(good);  // a head without an end
}

}  // namespace
}  // namespace pawl::link
