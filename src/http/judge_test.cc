// Requests are checked before their body is read, and all requests together have a bound.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>

#include "http/gzip.h"
#include "http/in_budget.h"
#include "http/testing/server_fixture.h"

namespace pawl::http {
namespace {

// Admits requests with a certain header.
ServerConfig judging(ServerConfig config = {}) {
  config.judge = [](Request& request) {
    Verdict verdict;
    if (request.header("key") != "right") {
      verdict.answer = Response{.status = 401, .body = "no"};
    }
    return verdict;
  };
  return config;
}

std::string post(std::string_view headers) {
  return "POST /p HTTP/1.1\r\nHost: h\r\n" + std::string(headers) + "\r\n";
}

bool eventually(const std::function<bool()>& holds) {
  for (int i = 0; i < 20'000 && !holds(); ++i) std::this_thread::yield();
  for (int i = 0; i < 2'000 && !holds(); ++i) {
    pollfd nothing{-1, POLLIN, 0};
    ::poll(&nothing, 1, 10);
  }
  return holds();
}

TEST(Judge, TheAnswerComesBeforeTheBodyIsSent) {
  const auto server = serve(judging(), echo);
  LoopbackClient client(server->port());
  client.send(post("Content-Length: 60000000\r\n"));
  const std::string answer = client.read_response();
  EXPECT_EQ(status_of(answer), "401");
  EXPECT_NE(answer.find("Connection: close"), std::string::npos);
  EXPECT_EQ(server->stats().judged_out, 1u);
  EXPECT_EQ(server->stats().requests, 0u);
}

TEST(Judge, NoContinueForWhoIsRefused) {
  const auto server = serve(judging(), echo);
  LoopbackClient refused(server->port());
  refused.send(post("Content-Length: 5\r\nExpect: 100-continue\r\n"));
  EXPECT_EQ(refused.read_to_end().substr(0, 12), "HTTP/1.1 401");
  LoopbackClient taken(server->port());
  taken.send(post("Key: right\r\nContent-Length: 5\r\nExpect: 100-continue\r\n"));
  EXPECT_EQ(taken.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  taken.send("hello");
  EXPECT_EQ(body_of(taken.read_response()), "POST /p [hello]");
}

// A small body is read and discarded, so that the client can reuse its connection.
TEST(Judge, TheConnectionGoesOnBehindASmallBody) {
  const auto server = serve(judging(), echo);
  LoopbackClient client(server->port());
  client.send(post("Content-Length: 5\r\n") + "GET /" + post("Transfer-Encoding: chunked\r\n") +
              "3\r\nGET\r\n0\r\nX: y\r\n\r\n" + post("Key: right\r\nContent-Length: 2\r\n") + "ok");
  EXPECT_EQ(status_of(client.read_response()), "401");
  EXPECT_EQ(status_of(client.read_response()), "401");
  EXPECT_EQ(body_of(client.read_response()), "POST /p [ok]");
}

// Its framing is wrong, but its request was already answered once.
TEST(Judge, ABrokenBodyOfARefusedRequestIsNotAnsweredTwice) {
  const auto server = serve(judging(), echo);
  LoopbackClient client(server->port());
  client.send(post("Transfer-Encoding: chunked\r\n") + "zz\r\n" + get("/next", "Key: right\r\n"));
  const std::string all = client.read_to_end();
  EXPECT_EQ(all.find("HTTP/1.1 ", 1), std::string::npos) << all;
  EXPECT_EQ(status_of(all), "401");
}

TEST(Judge, AVerdictBoundsTheBodyAndAddsLines) {
  const std::string lines = "X-Line: one\r\n";
  ServerConfig config;
  config.judge = [&](Request&) {
    Verdict verdict;
    verdict.body_bytes_max = 4;
    verdict.lines = &lines;
    return verdict;
  };
  const auto server = serve(std::move(config), echo);
  LoopbackClient client(server->port());
  client.send(post("Content-Length: 4\r\n") + "four" + post("Content-Length: 5\r\n") + "five5");
  const std::string first = client.read_response();
  EXPECT_EQ(status_of(first), "200");
  EXPECT_NE(first.find("\r\nX-Line: one\r\n"), std::string::npos);
  const std::string second = client.read_response();
  EXPECT_EQ(status_of(second), "413");
  EXPECT_NE(second.find("\r\nX-Line: one\r\n"), std::string::npos);
}

TEST(Judge, OnlyABodyThatWrapsRequestsMayBeLarger) {
  ServerConfig config;
  config.body_bytes_max = 100;
  config.wrapping_bytes_max = 50;
  config.judge = [](Request& request) {
    Verdict verdict;
    verdict.wraps_requests = request.header("key") == "wraps";
    return verdict;
  };
  const auto server = serve(std::move(config), echo);
  const auto status_for = [&](std::string_view headers, size_t bytes) {
    LoopbackClient client(server->port());
    client.send(post("Content-Length: " + std::to_string(bytes) + "\r\n" + std::string(headers)) +
                std::string(bytes, 'b'));
    return status_of(client.read_response());
  };
  EXPECT_EQ(status_for("", 100), "200");
  EXPECT_EQ(status_for("", 101), "413");
  EXPECT_EQ(status_for("Key: wraps\r\n", 150), "200");
  EXPECT_EQ(status_for("Key: wraps\r\n", 151), "413");
}

TEST(InBudget, SmallAndLargeDoNotShareAndOneLargeAlwaysFits) {
  InBudget budget;
  budget.limit(4 << 20);                    // 1 MiB for small ones, 3 MiB for large ones
  EXPECT_TRUE(budget.change(0, 10 << 20));  // alone
  EXPECT_FALSE(budget.change(0, 1 << 20));
  EXPECT_TRUE(budget.change(0, 60'000)) << "small ones do not wait for it";
  EXPECT_TRUE(budget.change(10 << 20, 2 << 20));
  EXPECT_TRUE(budget.change(0, 1 << 20));
  EXPECT_FALSE(budget.change(1 << 20, 2 << 20));
  EXPECT_EQ(budget.held(), (3u << 20) + 60'000);
  EXPECT_TRUE(budget.change(2 << 20, 1'000));
  EXPECT_TRUE(budget.change(1 << 20, 20 << 20)) << "alone again";
  EXPECT_TRUE(budget.change(20 << 20, 0));
  EXPECT_TRUE(budget.change(60'000, 100'000));
  EXPECT_TRUE(budget.change(100'000, 0));
  EXPECT_TRUE(budget.change(1'000, 0));
  EXPECT_EQ(budget.held(), 0u);
  for (int i = 0; i < 16; ++i) EXPECT_TRUE(budget.change(0, 64 << 10));
  EXPECT_FALSE(budget.change(0, 4 << 10));
}

// Two requests use up the budget; a third is refused before its body, a small one is admitted.
TEST(Judge, AtTheBoundOfAllRequestsTheNextGets503AndSmallOnesGetIn) {
  const auto server = serve({.in_bytes_total_max = 4 << 20}, echo);
  LoopbackClient first(server->port());
  LoopbackClient second(server->port());
  first.send(post("Content-Length: 2000000\r\n"));
  second.send(post("Content-Length: 1000000\r\n"));
  ASSERT_TRUE(eventually([&] { return server->stats().request_bytes >= 2'990'000; }));
  LoopbackClient third(server->port());
  third.send(post("Content-Length: 1000000\r\nExpect: 100-continue\r\n"));
  const std::string refused = third.read_to_end();
  EXPECT_EQ(status_of(refused), "503");
  EXPECT_NE(refused.find("\r\nRetry-After: 1\r\n"), std::string::npos);
  EXPECT_EQ(refused.find("100 Continue"), std::string::npos);
  LoopbackClient small(server->port());
  small.send(post("Content-Length: 4\r\n") + "four");
  EXPECT_EQ(status_of(small.read_response()), "200");
  first.send(std::string(2'000'000, 'x'));
  second.send(std::string(1'000'000, 'x'));
  EXPECT_EQ(status_of(first.read_response()), "200");
  EXPECT_EQ(status_of(second.read_response()), "200");
  first.close();
  second.close();
  EXPECT_TRUE(eventually([&] { return server->stats().request_bytes == 0; }));
  EXPECT_EQ(server->stats().requests_no_room, 1u);
}

TEST(Judge, OneBodyLargerThanTheBoundGetsThrough) {
  const auto server = serve({.in_bytes_total_max = 1 << 20}, echo);
  LoopbackClient client(server->port());
  client.send(post("Content-Length: 3000000\r\n"));
  std::thread sender([&] { client.send(std::string(3'000'000, 'x')); });
  EXPECT_EQ(status_of(client.read_response()), "200");
  sender.join();
}

// The client is gone, but its request is still held by a handler.
TEST(Judge, WhatAHandlerHoldsCountsAfterItsClientLeft) {
  Parked parked;
  const auto server = serve({}, parking(parked));
  {
    LoopbackClient client(server->port());
    client.send(post("Content-Length: 1000000\r\n") + std::string(1'000'000, 'x'));
    ASSERT_TRUE(eventually([&] { return server->stats().requests == 1; }));
    const linger at_once{1, 0};  // a reset: a client that only stops sending still gets its answer
    ::setsockopt(client.fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  ASSERT_TRUE(eventually([&] { return server->stats().connections_open == 0; }));
  EXPECT_GE(server->stats().request_bytes, 990'000u);
  parked.take("/p").respond(text("late"));
  EXPECT_TRUE(eventually([&] { return server->stats().request_bytes == 0; }));
}

// A thread for each piece of work, as a pool would have.
struct Aside {
  std::vector<std::thread> threads;
  std::atomic<int> taken{0};
  bool full = false;
  ~Aside() {
    for (std::thread& thread : threads) thread.join();
  }
  std::function<bool(std::function<void()>&)> runner() {
    return [this](std::function<void()>& work) {
      if (full) return false;
      ++taken;
      threads.emplace_back(std::move(work));
      return true;
    };
  }
};

std::string packed_post(const std::string& plain) {
  const std::string packed = *gzip(plain);
  return post("Content-Encoding: gzip\r\nContent-Length: " + std::to_string(packed.size()) +
              "\r\n") +
         packed;
}

std::string noise(size_t bytes) {
  std::string text;
  uint32_t state = 1;
  while (text.size() < bytes) {
    state = state * 1664525 + 1013904223;
    text.append(std::to_string(state)).append(",");
  }
  return text.substr(0, bytes);
}

TEST(Inflate, LargeBodiesAreInflatedAsideAndRequestsStayInOrder) {
  Aside aside;
  ServerConfig config;
  config.run_aside = aside.runner();
  const auto server = serve(std::move(config), [](Request&& request, Responder responder) {
    responder.respond(text(std::to_string(request.body.size())));
  });
  LoopbackClient client(server->port());
  client.send(packed_post(noise(1'000)) + packed_post(noise(3'000'000)) + get("/last"));
  EXPECT_EQ(body_of(client.read_response()), "1000");
  EXPECT_EQ(body_of(client.read_response()), "3000000");
  EXPECT_EQ(body_of(client.read_response()), "0");
  EXPECT_EQ(aside.taken, 1) << "the small one was inflated in place";
  EXPECT_TRUE(eventually([&] { return server->stats().request_bytes == 0; }));
}

TEST(Inflate, ABombIsRefusedByItsRatioAndByTheBudget) {
  Aside aside;
  ServerConfig config;
  config.run_aside = aside.runner();
  const auto server = serve(config, echo);
  LoopbackClient client(server->port());
  client.send(packed_post(std::string(60'000'000, '0')));  // 1000 times what is sent
  EXPECT_EQ(status_of(client.read_response()), "413");

  config.in_bytes_total_max = 1 << 20;
  const auto small = serve(std::move(config), echo);
  LoopbackClient holder(small->port());
  holder.send(post("Content-Length: 700000\r\n"));
  ASSERT_TRUE(eventually([&] { return small->stats().request_bytes >= 690'000; }));
  LoopbackClient bomb(small->port());
  bomb.send(packed_post(noise(900'000)));
  EXPECT_EQ(status_of(bomb.read_response()), "503");
  EXPECT_TRUE(eventually([&] { return small->stats().request_bytes < 704'000; }));
}

TEST(Inflate, WithoutAThreadToSpareItIsRefused) {
  Aside aside;
  aside.full = true;
  ServerConfig config;
  config.run_aside = aside.runner();
  const auto server = serve(std::move(config), echo);
  LoopbackClient client(server->port());
  client.send(packed_post(noise(2'000'000)));
  EXPECT_EQ(status_of(client.read_response()), "503");
  EXPECT_TRUE(eventually([&] { return server->stats().request_bytes == 0; }));
}

// A slow sender holds the announced bytes only for a limited time.
TEST(Judge, ABodyThatStallsGets408LongBeforeItsWholeTime) {
  const auto server = serve({.body_read_ms = 600'000, .body_stall_ms = 50}, echo);
  LoopbackClient client(server->port());
  client.send(post("Content-Length: 1000000\r\n") + "x");
  EXPECT_EQ(status_of(client.read_response()), "408");
  EXPECT_TRUE(eventually([&] { return server->stats().request_bytes == 0; }));
}

}  // namespace
}  // namespace pawl::http
