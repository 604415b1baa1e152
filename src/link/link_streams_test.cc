// Streams and long polls over a link: both ends learn when the other one leaves, and a slow reader
// is bounded.
#include <gtest/gtest.h>

#include <future>

#include "link/links.h"
#include "link/testing/link_fixture.h"

namespace pawl::link {
namespace {

TEST(LinkStreams, ChunksArriveInOrderAndEnd) {
  http::Parked parked;
  ServingNode node(http::parking(parked));
  const auto from = links();
  const auto outcome = call(*from, node.peer(), waiting(passed("GET", "/events")));
  {
    http::Stream stream = parked.take("/events").stream(
        {.headers = {{"X", "y"}}, .content_type = "text/event-stream", .body = "first"});
    EXPECT_EQ(outcome->wait_for("first"), "stream 200 |first|");
    EXPECT_TRUE(stream.write("second"));
    EXPECT_EQ(outcome->wait_for("second"), "stream 200 |first|second|");
    EXPECT_TRUE(stream.write(""));
    EXPECT_TRUE(stream.write("third"));
  }
  EXPECT_EQ(outcome->wait(), "stream 200 |first|second|third|end|");
  EXPECT_EQ(outcome->response().content_type, "text/event-stream");
  EXPECT_EQ(outcome->response().headers.at(0).second, "y");
  EXPECT_EQ(call(*from, node.peer(), passed("GET", "/next"))->told(), "");
  parked.take("/next").respond({});
  EXPECT_EQ(node.server().stats().connections_accepted, 1U);  // the line was used again
}

TEST(LinkStreams, AStreamInABatchWithOthers) {
  http::Parked parked;
  ServingNode node(http::parking(parked));
  const auto from = links();
  const auto outcomes = call_many(*from, node.peer(), {"/stream", "/other"});
  http::Stream stream = parked.take("/stream").stream({.body = "a"});
  outcomes[0]->wait_for("a|");
  parked.take("/other").respond({.body = "other"});
  EXPECT_EQ(outcomes[1]->wait(), "answer 200 other|");
  EXPECT_TRUE(stream.write("b"));
  stream.close();
  EXPECT_EQ(outcomes[0]->wait(), "stream 200 |a|b|end|");
  EXPECT_EQ(node.door().stats().batches, 1U);
}

TEST(LinkStreams, AParkedCallIsGivenUpWhenItsClientLeaves) {
  std::promise<http::Responder> parked;
  std::promise<void> gone;
  ServingNode node([&](http::Request&&, http::Responder responder) {
    responder.on_disconnect([&] { gone.set_value(); });
    parked.set_value(std::move(responder));
  });
  const auto from = links();
  const auto outcome = call(*from, node.peer(), waiting(passed("GET", "/poll")));
  const http::Responder kept = parked.get_future().get();
  EXPECT_FALSE(kept.disconnected());
  outcome->leave();
  gone.get_future().wait();
  EXPECT_TRUE(kept.disconnected());
  EXPECT_EQ(outcome->wait(), "failed Unknown|");
}

// A handler that asks too late is called back, too.
TEST(LinkStreams, ALateWatchIsCalledBack) {
  http::Parked parked;
  ServingNode node(http::parking(parked));
  const auto from = links();
  const auto outcome = call(*from, node.peer(), waiting(passed("GET", "/poll")));
  http::Responder kept = parked.take("/poll");
  std::promise<void> first;
  kept.on_disconnect([&] { first.set_value(); });
  outcome->leave();
  first.get_future().wait();
  std::promise<void> second;
  kept.on_disconnect([&] { second.set_value(); });
  second.get_future().wait();
  EXPECT_TRUE(kept.disconnected());
}

TEST(LinkStreams, AReaderThatLeavesEndsTheStreamAtItsSource) {
  http::Parked parked;
  ServingNode node(http::parking(parked));
  const auto from = links();
  const auto outcome = call(*from, node.peer(), waiting(passed("GET", "/events")));
  http::Stream stream = parked.take("/events").stream({.body = "first"});
  std::promise<void> closed;
  stream.on_close([&] { closed.set_value(); });
  outcome->wait_for("first");
  outcome->leave();
  closed.get_future().wait();
  EXPECT_FALSE(stream.write("more"));
  EXPECT_EQ(outcome->wait(), "stream 200 |first|end|");
}

TEST(LinkStreams, AStreamEndsWhenItsNodeDies) {
  http::Parked parked;
  ServingNode node(http::parking(parked));
  const auto from = links();
  const auto outcome = call(*from, node.peer(), waiting(passed("GET", "/events")));
  http::Stream stream = parked.take("/events").stream({.body = "first"});
  outcome->wait_for("first");
  node.stop();
  EXPECT_EQ(outcome->wait(), "stream 200 |first|end|");
  EXPECT_EQ(from->stats().streams_broken, 1U);
  EXPECT_EQ(from->stats().unknown, 0U);
}

// The producer sees what waits, and is cut when it writes on; no end holds more than its bound and
// what the sockets hold.
TEST(LinkStreams, ASlowReaderIsBounded) {
  http::Parked parked;
  ServingNode node(http::parking(parked), {.stream_bytes_max = 256 * 1024});
  const auto from = links({.sink_bytes_max = 64 * 1024});
  const auto outcome = call(*from, node.peer(), waiting(passed("GET", "/events")));
  http::Stream stream = parked.take("/events").stream({.body = "first"});
  outcome->wait_for("first");
  outcome->stop_reading();
  const std::string chunk(16 * 1024, 'c');
  size_t written = 0;
  while (stream.write(chunk)) written += chunk.size();
  EXPECT_LT(written, 64U * 1024 * 1024);
  const size_t held = outcome->unsent();
  EXPECT_LE(held, 64U * 1024 + 128U * 1024);
  outcome->read_on();
  outcome->wait();
  EXPECT_EQ(outcome->bytes(), written + 5);
}

TEST(LinkStreams, AReaderThatCatchesUpGetsAll) {
  http::Parked parked;
  ServingNode node(http::parking(parked));
  const auto from = links({.sink_bytes_max = 8 * 1024});
  const auto outcome = call(*from, node.peer(), waiting(passed("GET", "/events")));
  http::Stream stream = parked.take("/events").stream({});
  outcome->stop_reading();
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(stream.write(std::string(64 * 1024, 'c')));
  stream.write("last");
  outcome->wait_for("65536 bytes");
  outcome->read_on();
  outcome->wait_for("last");
  stream.close();
  outcome->wait();
  EXPECT_EQ(outcome->bytes(), 8U * 64 * 1024 + 4);
}

}  // namespace
}  // namespace pawl::link
