// Clients with large answers that read slowly: their cost is bounded, and others are not affected.
//
// One I/O thread serves all connections of a test, so an answer to one client shows that earlier
// input of another was processed.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "http/testing/server_fixture.h"

namespace pawl::http {
namespace {

constexpr size_t kLarge = 2'000'000;
constexpr int kSmallBuffer = 4096;

// "/large…" gets kLarge bytes that begin with the path; "/parked…" waits; all else is echoed.
class Mixed {
 public:
  explicit Mixed(ServerConfig config = {}) {
    config.gzip_bytes_min = 0;
    server_ = serve(std::move(config), [this](Request&& request, Responder responder) {
      if (request.path.starts_with("/large")) {
        ++large_;
        std::string body(request.path);
        body.resize(kLarge, 'x');
        responder.respond(text(std::move(body)));
      } else if (request.path.starts_with("/parked")) {
        parked_.add(std::move(request), std::move(responder));
      } else {
        echo(std::move(request), std::move(responder));
      }
    });
  }

  int port() const { return server_->port(); }
  ServerStats stats() const { return server_->stats(); }
  int large() const { return large_; }
  void answer(const std::string& path) { parked_.take(path).respond(text(path)); }

  // The number of requests handled once all earlier input has been processed.
  uint64_t taken_up() {
    LoopbackClient other(port());
    for (int i = 0; i < 20; ++i) {
      other.send(get("/other"));
      EXPECT_EQ(status_of(other.read_response()), "200");
    }
    others_ += 20;
    return stats().requests - others_;
  }

 private:
  Parked parked_;
  std::atomic<int> large_{0};
  uint64_t others_ = 0;
  std::unique_ptr<Server> server_;
};

std::string pipelined(const std::string& path, int count) {
  std::string requests;
  for (int i = 0; i < count; ++i) requests += get(path + std::to_string(i));
  return requests;
}

TEST(BackPressure, WhoDoesNotReadIsNotAnsweredAhead) {
  Mixed server;
  LoopbackClient greedy(server.port(), kSmallBuffer);
  greedy.send(pipelined("/large", 30));
  EXPECT_LE(server.taken_up(), 6U);  // the first, and those that fit into the socket's buffer
  for (int i = 0; i < 30; ++i) {
    const std::string path = "/large" + std::to_string(i);
    const std::string body = body_of(greedy.read_response());
    ASSERT_EQ(body.size(), kLarge);
    ASSERT_EQ(body.substr(0, path.size() + 1), path + "x");
  }
  EXPECT_EQ(server.large(), 30);
}

TEST(BackPressure, SmallAnswersOpenThePipelineAndALargeOneClosesIt) {
  Mixed server;
  LoopbackClient client(server.port());
  client.send(pipelined("/parked-first", 64));
  EXPECT_EQ(server.taken_up(), 4U);
  for (int i = 0; i < 64; ++i) server.answer("/parked-first" + std::to_string(i));
  for (int i = 0; i < 64; ++i) client.read_response();
  client.send(pipelined("/parked-then", 100));
  EXPECT_EQ(server.taken_up(), 64U + 64U);
  for (int i = 0; i < 100; ++i) server.answer("/parked-then" + std::to_string(i));
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(body_of(client.read_response()), "/parked-then" + std::to_string(i));
  }
  client.send(get("/large"));
  client.read_response();
  client.send(pipelined("/parked-last", 2));
  EXPECT_EQ(server.taken_up(), 64U + 100U + 1U + 1U);
  server.answer("/parked-last0");
  EXPECT_EQ(body_of(client.read_response()), "/parked-last0");
  server.answer("/parked-last1");
  EXPECT_EQ(body_of(client.read_response()), "/parked-last1");
}

TEST(BackPressure, LargeBodiesInWorkStopThePipeline) {
  Mixed server({.in_bytes_max = 1000});
  LoopbackClient client(server.port());
  for (int i = 0; i < 3; ++i) {
    client.send("POST /parked" + std::to_string(i) +
                " HTTP/1.1\r\nHost: h\r\nContent-Length: 600\r\n\r\n" + std::string(600, 'b'));
  }
  EXPECT_EQ(server.taken_up(), 2U);
  for (int i = 0; i < 3; ++i) {
    server.answer("/parked" + std::to_string(i));
    EXPECT_EQ(body_of(client.read_response()), "/parked" + std::to_string(i));
  }
}

// A byte now and then does not count as progress.
TEST(BackPressure, AReaderBelowTheLeastRateIsCutWhileItReads) {
  Mixed server({.write_stall_ms = 50, .write_bytes_min = 1024 * 1024});
  LoopbackClient client(server.port(), kSmallBuffer);
  client.send(pipelined("/large", 10));
  pollfd nothing{-1, 0, 0};
  char buffer[100];
  size_t read = 0;
  while (server.stats().slow_readers_cut == 0 && read < kLarge / 10) {
    ::poll(&nothing, 1, 1);
    const ssize_t count = ::recv(client.fd(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (count > 0) read += static_cast<size_t>(count);
  }
  EXPECT_EQ(server.stats().slow_readers_cut, 1U);
  EXPECT_EQ(server.stats().timeouts, 0U);
}

// Each connection is within its bound; together they exceed the budget.
TEST(BackPressure, WhoHoldsMoreThanItsShareOfAnExhaustedBudgetIsCut) {
  Mixed server({.out_bytes_total_max = 3 * kLarge + 1000, .out_stall_ms = 10});
  LoopbackClient modest(server.port());
  modest.send(get("/parked") + get("/behind"));
  std::vector<std::unique_ptr<LoopbackClient>> greedy;
  for (int i = 0; i < 5; ++i) {
    greedy.push_back(std::make_unique<LoopbackClient>(server.port()));
    greedy.back()->send(get("/parked" + std::to_string(i)) + get("/large"));
  }
  while (server.stats().hoarders_cut < 2) std::this_thread::yield();
  EXPECT_EQ(server.taken_up(), 2U + 5U * 2U);
  EXPECT_EQ(server.stats().hoarders_cut, 2U);  // the others fit once these are closed
  server.answer("/parked");
  EXPECT_EQ(body_of(modest.read_response()), "/parked");
  EXPECT_EQ(body_of(modest.read_response()), "GET /behind []");
}

TEST(BackPressure, ManyWhoDoNotReadHoldNoMoreThanTheBudget) {
  Mixed server({.out_bytes_total_max = 300 * 1024, .out_stall_ms = 10});
  std::vector<std::unique_ptr<LoopbackClient>> greedy;
  for (int i = 0; i < 4; ++i) {
    greedy.push_back(std::make_unique<LoopbackClient>(server.port(), kSmallBuffer));
    greedy.back()->send(pipelined("/large", 30));
  }
  while (server.stats().hoarders_cut < 3) std::this_thread::yield();
  server.taken_up();  // others are still served
  while (server.stats().unsent_bytes > 300 * 1024) std::this_thread::yield();
  EXPECT_EQ(server.stats().slow_readers_cut, 0U);
}

TEST(BackPressure, OverTheBudgetWhoHasSomethingUnsentIsNotAskedForMore) {
  Mixed server({.out_bytes_total_max = kLarge - 1, .out_stall_ms = 600'000});
  LoopbackClient modest(server.port());
  modest.send(get("/parked") + get("/behind"));
  LoopbackClient greedy(server.port());
  greedy.send(get("/parked-greedy") + get("/large"));
  EXPECT_EQ(server.taken_up(), 4U);
  modest.send(get("/more"));
  EXPECT_EQ(server.taken_up(), 4U);  // this client has nothing unsent, and is served
  server.answer("/parked-greedy");
  greedy.read_response();
  EXPECT_EQ(body_of(greedy.read_response()).size(), kLarge);
  EXPECT_EQ(server.taken_up(), 5U);
  server.answer("/parked");
  for (const char* body : {"/parked", "GET /behind []", "GET /more []"})
    EXPECT_EQ(body_of(modest.read_response()), body);
  EXPECT_EQ(server.stats().hoarders_cut, 0U);
}

// A client that reads its answer is not cut for exceeding the budget.
TEST(BackPressure, AnAnswerBeyondTheBudgetArrives) {
  Mixed server({.out_bytes_max = 1000, .out_bytes_total_max = 1000, .out_stall_ms = 5'000});
  LoopbackClient client(server.port(), kSmallBuffer);
  client.send(pipelined("/large", 4));
  for (int i = 0; i < 4; ++i) ASSERT_EQ(body_of(client.read_response()).size(), kLarge);
  EXPECT_EQ(server.stats().hoarders_cut, 0U);
}

// A handler that starts one stream and leaves the writing to the test.
class Streaming {
 public:
  explicit Streaming(ServerConfig config) {
    server_ = serve(std::move(config), [this](Request&&, Responder responder) {
      Stream stream = responder.stream({.content_type = "text/event-stream"});
      stream.on_close([this] { closed_ = true; });
      const std::lock_guard lock(mutex_);
      stream_ = std::move(stream);
      begun_ = true;
    });
  }
  Server& server() { return *server_; }
  bool closed() const { return closed_; }
  bool write(std::string_view bytes) {
    while (!begun_) std::this_thread::yield();
    const std::lock_guard lock(mutex_);
    return stream_.write(bytes);
  }

 private:
  std::mutex mutex_;
  Stream stream_;
  std::atomic<bool> begun_{false};
  std::atomic<bool> closed_{false};
  std::unique_ptr<Server> server_;
};

// Events in the socket's buffer still count as not read by the client.
TEST(BackPressure, AStreamWhoseClientDoesNotReadIsCutBeforeItOverflows) {
  Streaming streaming({.write_stall_ms = 30});
  LoopbackClient client(streaming.server().port(), kSmallBuffer);
  client.send(get("/"));
  EXPECT_TRUE(streaming.write(std::string(200'000, 'e')));
  while (!streaming.closed()) std::this_thread::yield();
  EXPECT_EQ(streaming.server().stats().slow_readers_cut, 1U);
  EXPECT_EQ(streaming.server().stats().streams_overrun, 0U);
  EXPECT_FALSE(streaming.write("more"));
}

// The bytes read by a client that left must not be checked: its connection is destroyed.
TEST(BackPressure, AClientThatLeftItsStreamIsForgotten) {
  Streaming streaming({.idle_ms = 60, .write_stall_ms = 10});
  LoopbackClient client(streaming.server().port());
  client.send(get("/"));
  EXPECT_TRUE(streaming.write("event;"));
  client.read_until("event;\r\n");
  client.half_close();
  while (!streaming.closed()) std::this_thread::yield();
  LoopbackClient idle(streaming.server().port());
  EXPECT_EQ(idle.read_to_end(), "");  // closed for idling, so that time has certainly passed
  while (streaming.server().stats().connections_open > 0) std::this_thread::yield();
  EXPECT_EQ(streaming.server().stats().slow_readers_cut, 0U);
}

// A quiet stream, or one whose client has taken everything, is left alone.
TEST(BackPressure, AStreamThatWasReadIsNotCut) {
  Streaming streaming({.idle_ms = 60, .write_stall_ms = 10});
  LoopbackClient client(streaming.server().port());
  client.send(get("/"));
  EXPECT_TRUE(streaming.write("event;"));
  client.read_until("event;\r\n");
  LoopbackClient idle(streaming.server().port());
  EXPECT_EQ(idle.read_to_end(), "");  // closed for idling, so that time has certainly passed
  EXPECT_TRUE(streaming.write("next;"));
  EXPECT_EQ(client.read_until("next;\r\n"), "5\r\nnext;\r\n");
  EXPECT_EQ(streaming.server().stats().slow_readers_cut, 0U);
}

}  // namespace
}  // namespace pawl::http
