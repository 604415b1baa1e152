// Streams: chunked answers that either side can end.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "http/server.h"
#include "http/testing/loopback_client.h"

namespace pawl::http {
namespace {

// A server whose only handler starts a stream and gives it to the test.
class StreamServer {
 public:
  explicit StreamServer(ServerConfig config = {}) {
    auto started = Server::start(std::move(config), [this](Request&&, Responder responder) {
      responder.on_disconnect([] { ADD_FAILURE() << "a stream has its own on_close"; });
      Stream stream = responder.stream({.content_type = "text/event-stream", .body = "hello;"});
      stream.on_close([this] { closed_.set_value(); });
      stream_.set_value(std::move(stream));
    });
    server_ = std::move(started).value();
  }

  Stream take_stream() { return stream_.get_future().get(); }
  void wait_for_close() { closed_.get_future().wait(); }
  Server& server() { return *server_; }

 private:
  std::promise<Stream> stream_;
  std::promise<void> closed_;
  std::unique_ptr<Server> server_;
};

TEST(Stream, SendsChunksInOrderAndKeepsTheConnection) {
  StreamServer streams;
  LoopbackClient client(streams.server().port());
  client.send(get("/", "X-Request-Id: i\r\n"));
  Stream stream = streams.take_stream();
  EXPECT_EQ(client.read_until("hello;\r\n"),
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
            "X-Request-Id: i\r\n\r\n6\r\nhello;\r\n");
  EXPECT_TRUE(stream.write("data: 1\n\n"));
  EXPECT_EQ(client.read_until("1\n\n\r\n"), "9\r\ndata: 1\n\n\r\n");
  EXPECT_TRUE(stream.write("data: 2\n\n"));
  EXPECT_TRUE(stream.write(""));
  stream.close();
  EXPECT_FALSE(stream.write("data: 3\n\n"));
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "9\r\ndata: 2\n\n\r\n0\r\n\r\n");
  client.send("bad\r\n\r\n");  // the connection is still in use: it refuses this
  EXPECT_EQ(status_of(client.read_to_end()), "400");
}

// A whole answer inside of a stream may be as large as one of its own; other chunks are bounded.
TEST(Stream, AnAnswerIsNotBoundedByTheStreamsBuffer) {
  ServerConfig config;
  config.stream_buffer_bytes_max = 1000;
  StreamServer streams(config);
  LoopbackClient client(streams.server().port());
  client.send(get("/"));
  Stream stream = streams.take_stream();
  const std::string large(3'000'000, 'x');
  EXPECT_TRUE(stream.write_answer(std::string(large)));
  client.read_until("hello;\r\n");
  EXPECT_EQ(client.read_until("x\r\n"), "2dc6c0\r\n" + large + "\r\n");
  while (stream.unsent() > 0) std::this_thread::yield();  // what the client has read was returned
  EXPECT_TRUE(stream.write_answer("a"));
  stream.close();
  EXPECT_FALSE(stream.write_answer("b"));
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "1\r\na\r\n0\r\n\r\n");
}

TEST(Stream, DestroyingItEndsTheAnswer) {
  StreamServer streams;
  LoopbackClient client(streams.server().port());
  client.send(get("/", "Connection: close\r\n"));
  { const Stream stream = streams.take_stream(); }
  EXPECT_EQ(body_of(client.read_to_end()), "6\r\nhello;\r\n0\r\n\r\n");
}

TEST(Stream, Http10GetsPlainBytesUntilTheEnd) {
  StreamServer streams;
  LoopbackClient client(streams.server().port());
  client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  Stream stream = streams.take_stream();
  stream.write("more");
  stream.close();
  EXPECT_EQ(body_of(client.read_to_end()), "hello;more");
}

TEST(Stream, HeadGetsTheHeadOnly) {
  StreamServer streams;
  LoopbackClient client(streams.server().port());
  client.send("HEAD / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  const Stream stream = streams.take_stream();
  EXPECT_EQ(body_of(client.read_to_end()), "");
}

TEST(Stream, LearnsThatItsClientLeft) {
  StreamServer streams;
  LoopbackClient client(streams.server().port());
  client.send(get("/"));
  Stream stream = streams.take_stream();
  EXPECT_EQ(status_of(client.read_until("hello;")), "200");
  client.close();
  streams.wait_for_close();
  EXPECT_FALSE(stream.write("x"));
}

// A reader that does not read costs at most the stream's buffer, then its connection.
TEST(Stream, ASlowReaderIsCutOff) {
  ServerConfig config;
  config.stream_buffer_bytes_max = 64 * 1024;
  StreamServer streams(std::move(config));
  LoopbackClient client(streams.server().port(), 4096);
  client.send(get("/"));
  Stream stream = streams.take_stream();
  const std::string chunk(1000, 'x');
  size_t written = 0;
  while (stream.write(chunk)) written += chunk.size();
  EXPECT_FALSE(stream.write(chunk));
  streams.wait_for_close();
  EXPECT_EQ(streams.server().stats().streams_overrun, 1U);
  EXPECT_LE(client.read_to_end().size(), written * 2);
}

// Sent bytes free the buffer: a reader that keeps up is never cut.
TEST(Stream, AReaderThatKeepsUpGetsMoreThanTheBufferHolds) {
  ServerConfig config;
  config.stream_buffer_bytes_max = 4096;
  StreamServer streams(std::move(config));
  LoopbackClient client(streams.server().port());
  client.send(get("/"));
  Stream stream = streams.take_stream();
  client.read_until("hello;\r\n");
  for (int i = 0; i < 200; ++i) {
    const std::string chunk = std::string(500, 'x') + std::to_string(i) + ";";
    ASSERT_TRUE(stream.write(chunk)) << i;
    client.read_until(chunk + "\r\n");
  }
}

// Stopping the server tells the owner of a stream, whose handle stays harmless.
TEST(Stream, EndsWithTheServer) {
  StreamServer streams;
  LoopbackClient client(streams.server().port());
  client.send(get("/"));
  Stream stream = streams.take_stream();
  client.read_until("hello;\r\n");
  streams.server().stop();
  streams.wait_for_close();
  EXPECT_FALSE(stream.write("x"));
  stream.close();
}

// A stream behind an unanswered request waits for its turn; a request behind it waits for its end.
TEST(Stream, KeepsItsPlaceInThePipeline) {
  std::promise<Responder> first;
  std::promise<Stream> middle;
  auto started = Server::start({}, [&](Request&& request, Responder responder) {
    if (request.path == "/first") {
      first.set_value(std::move(responder));
    } else if (request.path == "/stream") {
      middle.set_value(responder.stream({.body = "begin;"}));
    } else {
      responder.respond({.body = "last"});
    }
  });
  const auto server = std::move(started).value();
  LoopbackClient client(server->port());
  client.send(get("/first") + get("/stream") + get("/last"));
  Stream stream = middle.get_future().get();
  EXPECT_TRUE(stream.write("end;"));
  stream.close();
  first.get_future().get().respond({.body = "first"});
  EXPECT_EQ(body_of(client.read_response()), "first");
  EXPECT_EQ(status_of(client.read_until("\r\n\r\n")), "200");
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "6\r\nbegin;\r\n4\r\nend;\r\n0\r\n\r\n");
  EXPECT_EQ(body_of(client.read_response()), "last");
}

}  // namespace
}  // namespace pawl::http
