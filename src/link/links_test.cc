// Requests passed on between two real servers: what the client gets is what a local handler gives.
#include "link/links.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/work_pool.h"
#include "link/testing/link_fixture.h"

namespace pawl::link {
namespace {

std::vector<std::string> numbered_paths(size_t count) {
  std::vector<std::string> paths(count);
  for (size_t i = 0; i < count; ++i) paths[i] = "/" + std::to_string(i);
  return paths;
}

TEST(Links, AnAnswerArrivesUnchanged) {
  ServingNode node([](http::Request&& request, http::Responder responder) {
    std::string body = std::string(request.method) + " " + std::string(request.target) + " [" +
                       std::string(request.body) + "] " + std::string(request.header("x-tenant")) +
                       " " + std::string(request.peer) + " " + std::string(request.id);
    responder.respond({.status = 409,
                       .headers = {{"Retry-After", "3"}, {"Pawl-Owner", "b/1"}, {"Empty", ""}},
                       .content_type = "application/json",
                       .body = std::move(body),
                       .close = true});
  });
  const auto from = links();
  Passed request = passed("POST", "/v1/jobs?x=1", "{}");
  request.request.headers = {{"X-Tenant", "t"}};
  request.request.peer = "10.1.1.1:99";
  const auto outcome = call(*from, node.peer(), std::move(request));
  outcome->wait();
  const http::Response response = outcome->response();
  EXPECT_EQ(response.status, 409);
  EXPECT_EQ(response.body, "POST /v1/jobs?x=1 [{}] t 10.1.1.1:99 req_1");
  EXPECT_EQ(response.content_type, "application/json");
  EXPECT_TRUE(response.close);
  const std::vector<std::pair<std::string, std::string>> headers = {
      {"Retry-After", "3"}, {"Pawl-Owner", "b/1"}, {"Empty", ""}};
  EXPECT_EQ(response.headers, headers);
  EXPECT_EQ(from->stats().passed_on, 1U);
}

TEST(Links, BodiesAreBytes) {
  std::string bytes;
  for (int i = 0; i < 256 * 300; ++i) bytes.push_back(static_cast<char>(i * 7));
  ServingNode node([](http::Request&& request, http::Responder responder) {
    responder.respond({.body = std::string(request.body)});
  });
  const auto from = links();
  const auto outcome = call(*from, node.peer(), passed("PUT", "/", bytes));
  outcome->wait();
  EXPECT_EQ(outcome->response().body, bytes);
}

TEST(Links, OneBatchIsAnsweredOutOfOrder) {
  http::Parked parked;
  ServingNode node(http::parking(parked));
  const auto from = links();
  const auto outcomes = call_many(*from, node.peer(), numbered_paths(50));
  for (int i = 50; i-- > 0;) {
    const std::string path = "/" + std::to_string(i);
    parked.take(path).respond({.body = "of " + path});
    EXPECT_EQ(outcomes[static_cast<size_t>(i)]->wait(), "answer 200 of " + path + "|");
    EXPECT_EQ(outcomes[0]->told().empty(), i > 0);
  }
  EXPECT_EQ(node.door().stats().batches, 1U);
  EXPECT_EQ(node.door().stats().calls, 50U);
}

TEST(Links, MoreCallsThanABatchHoldsTravelInSeveral) {
  ServingNode node(http::echo);
  const auto from = links({.lines_max = 2});
  const auto outcomes = call_many(*from, node.peer(), numbered_paths(2'000));
  for (int i = 0; i < 2'000; ++i) {
    EXPECT_EQ(outcomes[static_cast<size_t>(i)]->wait(),
              "answer 200 GET /" + std::to_string(i) + " []|");
  }
  EXPECT_GE(node.door().stats().batches, 2'000U / kBatchCallsMax);
  EXPECT_LE(from->stats().lines, 2U);
}

TEST(Links, ALineIsUsedAgain) {
  ServingNode node(http::echo);
  const auto from = links();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(call(*from, node.peer(), passed("GET", "/"))->wait(), "answer 200 GET / []|");
  }
  EXPECT_EQ(node.server().stats().connections_accepted, 1U);
}

TEST(Links, AnUnusedLineIsClosed) {
  ServingNode node(http::echo);
  const auto from = links({.idle_ms_max = 1});
  call(*from, node.peer(), passed("GET", "/"))->wait();
  while (from->stats().lines > 0) std::this_thread::yield();
  EXPECT_EQ(call(*from, node.peer(), passed("GET", "/"))->wait(), "answer 200 GET / []|");
  EXPECT_EQ(node.server().stats().connections_accepted, 2U);
}

// Calls from several threads to two nodes, answered from another thread than they came on.
TEST(Links, ManyThreadsAtOnce) {
  WorkPool answering({.threads = 2, .waiting_max = 100'000});
  const http::Handler handler = [&](http::Request&& request, http::Responder responder) {
    auto kept = std::make_shared<http::Responder>(std::move(responder));
    std::function<void()> work = [kept, target = std::string(request.target)] {
      kept->respond({.body = target});
    };
    EXPECT_TRUE(answering.run(work).ok());
  };
  ServingNode first(handler);
  ServingNode second(handler, {.incarnation = "serving-2"}, {.io_threads = 2});
  Peer peers[] = {first.peer(), second.peer()};
  peers[1].incarnation = "serving-2";
  const auto from = links();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const auto outcomes = call_many(*from, peers[(t + i) % 2], numbered_paths(8));
        for (size_t k = 0; k < outcomes.size(); ++k)
          EXPECT_EQ(outcomes[k]->wait(), "answer 200 /" + std::to_string(k) + "|");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(from->stats().passed_on, 1'600U);
  answering.stop();
}

// What the handler forgets is a 500 for the client, as without a link.
TEST(Links, AForgottenRequestIsAnswered) {
  ServingNode node([](http::Request&&, http::Responder) {});
  const auto from = links();
  const auto outcome = call(*from, node.peer(), passed("GET", "/"));
  outcome->wait();
  EXPECT_EQ(outcome->response().status, 500);
}

TEST(Links, LargeAnswersPassAloneAndAmongOthers) {
  const std::string large(64 * 1024 * 1024, 'x');
  http::Parked parked;
  ServingNode node(http::parking(parked));
  const auto from = links();
  const auto alone = call(*from, node.peer(), passed("GET", "/alone"));
  parked.take("/alone").respond({.body = large});
  alone->wait();
  EXPECT_EQ(alone->response().body, large);
  const auto outcomes = call_many(*from, node.peer(), {"/first", "/large", "/last"});
  parked.take("/last").respond({.body = "last"});
  EXPECT_EQ(outcomes[2]->wait(), "answer 200 last|");
  parked.take("/large").respond({.body = large});
  parked.take("/first").respond({.body = "first"});
  outcomes[1]->wait();
  EXPECT_EQ(outcomes[1]->response().body, large);
  EXPECT_EQ(outcomes[0]->wait(), "answer 200 first|");
}

// The largest body that the server takes from a client must also pass a link.
TEST(Links, TheLargestRequestPasses) {
  const size_t largest = 4 * 1024 * 1024;
  ServingNode node(
      [](http::Request&& request, http::Responder responder) {
        responder.respond({.body = std::to_string(request.body.size())});
      },
      {}, {.body_bytes_max = largest});
  const auto from = links();
  EXPECT_EQ(call(*from, node.peer(), passed("POST", "/", std::string(largest, 'y')))->wait(),
            "answer 200 4194304|");
}

TEST(Links, TheVersionIsTheHighestThatBothSpeak) {
  ServingNode node(http::echo, {.versions = {1, 2}});
  const auto from = links({.versions = {1, 3}});
  for (int i = 0; i < 2; ++i) call(*from, node.peer(), passed("GET", "/"))->wait();
  const std::vector<std::string> headers = node.batch_headers();
  ASSERT_EQ(headers.size(), 2U);
  EXPECT_EQ(headers[0].substr(0, 2), "1 ");
  EXPECT_EQ(headers[1].substr(0, 2), "2 ");
}

TEST(Links, ANameOfAHostIsLookedUp) {
  ServingNode node(http::echo);
  const auto from = links();
  Peer peer = node.peer();
  peer.url = "http://localhost:" + std::to_string(node.server().port()) + "/";
  EXPECT_EQ(call(*from, peer, passed("GET", "/"))->wait(), "answer 200 GET / []|");
}

TEST(Links, ForwardTimesAreCounted) {
  ServingNode node(http::echo);
  const auto from = links();
  call(*from, node.peer(), passed("GET", "/"))->wait();
  const LinkStats stats = from->stats();
  uint64_t forwards = 0;
  for (const uint64_t count : stats.forwards) forwards += count;
  EXPECT_EQ(forwards, 1U);
  EXPECT_GT(stats.forward_us, 0U);
}

}  // namespace
}  // namespace pawl::link
