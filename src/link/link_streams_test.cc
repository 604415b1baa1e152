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

// From a client's connection through two nodes and back.
class PassingNode {
 public:
  explicit PassingNode(const Peer& peer) : links_(links()) {
    server_ = http::serve({}, [this, peer](http::Request&& request, http::Responder responder) {
      const bool waits = request.path != "/calm";
      const std::shared_ptr<http::AnswerSink> sink = http::sink_for(std::move(responder));
      links_->call({peer,
                    {.partition = 1,
                     .epoch = 1,
                     .request = http::parts_of(std::move(request)),
                     .waits = waits},
                    sink,
                    [sink](LinkFailure) { sink->answer({.status = 503}); }});
    });
  }
  ~PassingNode() { links_->stop(); }
  PassingNode(const PassingNode&) = delete;
  PassingNode& operator=(const PassingNode&) = delete;

  int port() const { return server_->port(); }

 private:
  std::unique_ptr<Links> links_;
  std::unique_ptr<http::Server> server_;
};

TEST(LinkStreams, AClientOfAnotherNodeSeesNoDifference) {
  http::Parked parked;
  ServingNode serving(http::parking(parked));
  PassingNode passing(serving.peer());
  http::LoopbackClient client(passing.port());
  client.send(http::get("/calm", "X-Request-Id: i\r\n"));
  parked.take("/calm").respond({.status = 404, .headers = {{"A", "b"}}, .body = "no"});
  EXPECT_EQ(client.read_response(),
            "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nX-Request-Id: i\r\nA: b\r\n\r\nno");
  client.send(http::get("/events"));
  http::Stream stream = parked.take("/events").stream({.body = "first"});
  EXPECT_EQ(http::status_of(client.read_until("5\r\nfirst\r\n")), "200");
  std::promise<void> closed;
  stream.on_close([&] { closed.set_value(); });
  client.close();
  closed.get_future().wait();
}

TEST(LinkStreams, AClientThatLeavesALongPollOfAnotherNode) {
  std::promise<http::Responder> parked;
  std::promise<void> gone;
  ServingNode serving([&](http::Request&&, http::Responder responder) {
    responder.on_disconnect([&] { gone.set_value(); });
    parked.set_value(std::move(responder));
  });
  PassingNode passing(serving.peer());
  http::LoopbackClient client(passing.port());
  client.send(http::get("/poll"));
  const http::Responder kept = parked.get_future().get();
  client.close();
  gone.get_future().wait();
}

}  // namespace
}  // namespace pawl::link
