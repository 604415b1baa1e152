#include "http/server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <random>
#include <thread>

#include "http/gzip.h"
#include "http/testing/server_fixture.h"

namespace pawl::http {
namespace {

TEST(Server, AnswersAndKeepsTheConnection) {
  const auto server = serve({}, echo);
  LoopbackClient client(server->port());
  client.send(get("/a?b", "X-Request-Id: abc\r\n"));
  EXPECT_EQ(client.read_response(),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 11\r\n"
            "X-Request-Id: abc\r\n\r\nGET /a?b []");
  client.send("POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nxyz");
  EXPECT_EQ(body_of(client.read_response()), "POST /p [xyz]");
  EXPECT_EQ(server->stats().requests, 2U);
  EXPECT_EQ(server->stats().connections_accepted, 1U);
}

TEST(Server, GeneratesARequestIdWhenTheClientsIsUnfit) {
  const auto server = serve({}, echo);
  LoopbackClient client(server->port());
  client.send(get("/", "X-Request-Id: a b\r\n"));
  EXPECT_NE(client.read_response().find("\r\nX-Request-Id: req_0"), std::string::npos);
}

TEST(Server, KeepsRequestOrderWhateverTheOrderOfAnswers) {
  Parked parked;
  const auto server = serve({}, parking(parked));
  LoopbackClient client(server->port());
  client.send(get("/1") + get("/2") + get("/3"));
  parked.take("/3").respond(text("three"));
  parked.take("/2").respond(text("two"));
  parked.take("/1").respond(text("one"));
  EXPECT_EQ(body_of(client.read_response()), "one");
  EXPECT_EQ(body_of(client.read_response()), "two");
  EXPECT_EQ(body_of(client.read_response()), "three");
}

// More requests than pipeline_max arrive at once: none is lost, none overtakes.
TEST(Server, PipelinesBeyondItsDepthLimit) {
  const auto server = serve({.pipeline_max = 4}, echo);
  LoopbackClient client(server->port());
  std::string requests;
  for (int i = 0; i < 1000; ++i) requests += get("/" + std::to_string(i));
  std::thread sender([&] { client.send(requests); });
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(body_of(client.read_response()), "GET /" + std::to_string(i) + " []");
  }
  sender.join();
}

TEST(Server, SeveralThreadsServeManyConnections) {
  const auto server = serve({.io_threads = 3}, echo);
  std::vector<std::unique_ptr<LoopbackClient>> clients;
  for (int i = 0; i < 30; ++i) clients.push_back(std::make_unique<LoopbackClient>(server->port()));
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < clients.size(); ++i) clients[i]->send(get("/" + std::to_string(i)));
    for (size_t i = 0; i < clients.size(); ++i) {
      EXPECT_EQ(body_of(clients[i]->read_response()), "GET /" + std::to_string(i) + " []");
    }
  }
}

TEST(Server, ListensOnIpv6AndRefusesATakenPort) {
  const auto server = serve({.host = "::"}, echo);
  LoopbackClient client(server->port());  // IPv4 on the dual socket
  client.send(get("/"));
  EXPECT_EQ(status_of(client.read_response()), "200");
  const auto second = Server::start({.host = "::", .port = server->port()}, echo);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("Address already in use"), std::string::npos);
}

TEST(Server, SaysContinueOnlyToThoseWhoWait) {
  const auto server = serve({.body_bytes_max = 100}, echo);
  LoopbackClient client(server->port());
  const std::string head =
      "POST /c HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: ";
  client.send(head + "2\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("ab");
  EXPECT_EQ(body_of(client.read_response()), "POST /c [ab]");
  client.send(head + "2\r\n\r\ncd");  // did not wait: the final answer comes first
  EXPECT_EQ(body_of(client.read_response()), "POST /c [cd]");
  client.send(head + "101\r\n\r\n");  // refused before the body is sent
  EXPECT_EQ(status_of(client.read_to_end()), "413");
}

// 100 Continue must not overtake the answer to an earlier request.
TEST(Server, ContinueWaitsForEarlierAnswers) {
  Parked parked;
  const auto server = serve({}, parking(parked));
  LoopbackClient client(server->port());
  client.send(get("/first") +
              "POST /c HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n");
  parked.take("/first").respond(text("first"));
  EXPECT_EQ(body_of(client.read_response()), "first");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("x");
  parked.take("/c").respond(text("second"));
  EXPECT_EQ(body_of(client.read_response()), "second");
}

TEST(Server, ReadsChunkedBodiesInPieces) {
  const auto server = serve({}, echo);
  LoopbackClient client(server->port());
  client.send("POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nab");
  client.send("cd\r\n2\r\nef\r\n");
  client.send("0\r\n\r\n" + get("/next"));
  EXPECT_EQ(body_of(client.read_response()), "POST /c [abcdef]");
  EXPECT_EQ(body_of(client.read_response()), "GET /next []");
}

TEST(Server, LargeBodiesGoBothWays) {
  const auto server = serve({.gzip_bytes_min = 0}, [](Request&& request, Responder responder) {
    responder.respond(text(std::string(request.body)));
  });
  LoopbackClient client(server->port());
  std::string body(5'000'000, '\0');
  std::minstd_rand random(7);
  for (char& c : body) c = static_cast<char>(random());
  std::thread sender([&] {
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) +
                "\r\n\r\n" + body);
  });
  const std::string received = body_of(client.read_response());
  sender.join();
  EXPECT_TRUE(received == body) << received.size();
}

TEST(Server, HeadAndBodilessStatusesSendNoBody) {
  const auto server = serve({}, [](Request&& request, Responder responder) {
    Response response = text("12345");
    if (request.path == "/204") response.status = 204;
    responder.respond(std::move(response));
  });
  LoopbackClient client(server->port());
  client.send("HEAD / HTTP/1.1\r\nHost: h\r\nX-Request-Id: i\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n"
            "X-Request-Id: i\r\n\r\n");
  client.send(get("/204", "X-Request-Id: i\r\n"));
  EXPECT_EQ(client.read_until("\r\n\r\n"),
            "HTTP/1.1 204 No Content\r\nContent-Type: text/plain\r\nX-Request-Id: i\r\n\r\n");
  client.send(get("/", "Connection: close\r\n"));
  EXPECT_EQ(body_of(client.read_to_end()), "12345");
}

TEST(Server, CompressesOnlyForThoseWhoAsk) {
  const std::string large(5000, 'z');
  const auto server = serve({}, [&](Request&& request, Responder responder) {
    Response response = text(request.path == "/small" ? "small" : large);
    if (request.path == "/image") response.content_type = "image/png";
    responder.respond(std::move(response));
  });
  LoopbackClient client(server->port());
  const std::string accepts = "Accept-Encoding: gzip\r\n";
  client.send(get("/", accepts) + get("/") + get("/small", accepts) + get("/image", accepts));
  const std::string packed = client.read_response();
  EXPECT_NE(packed.find("Content-Encoding: gzip"), std::string::npos);
  std::string plain;
  EXPECT_EQ(gunzip(body_of(packed), 5000, plain), InflateFault::None);
  EXPECT_EQ(plain, large);
  EXPECT_EQ(body_of(client.read_response()), large);
  EXPECT_EQ(body_of(client.read_response()), "small");
  EXPECT_EQ(body_of(client.read_response()), large);
}

// A handler that copies client input into a header must not let the client write headers.
TEST(Server, DropsHeadersThatWouldSplitTheResponse) {
  const auto server = serve({}, [](Request&&, Responder responder) {
    Response response = text("x");
    response.headers = {{"X-Good", "1"}, {"X-Bad", "1\r\nX-Evil: 1"}, {"Content-Length", "99"}};
    responder.respond(std::move(response));
  });
  LoopbackClient client(server->port());
  client.send(get("/", "X-Request-Id: i\r\n"));
  EXPECT_EQ(client.read_response(),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1\r\n"
            "X-Request-Id: i\r\nX-Good: 1\r\n\r\nx");
}

TEST(Server, Http10ClosesUnlessAskedNotTo) {
  const auto server = serve({}, echo);
  LoopbackClient client(server->port());
  client.send("GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_NE(client.read_response().find("Connection: keep-alive"), std::string::npos);
  client.send("GET /2 HTTP/1.0\r\n\r\n");
  EXPECT_EQ(body_of(client.read_to_end()), "GET /2 []");
}

TEST(Server, TellsAParkedRequestThatItsClientLeft) {
  std::promise<void> left;
  Parked parked;
  const auto server = serve({}, [&](Request&& request, Responder responder) {
    responder.on_disconnect([&] { left.set_value(); });
    parked.add(std::move(request), std::move(responder));
  });
  LoopbackClient client(server->port());
  client.send(get("/poll"));
  Responder responder = parked.take("/poll");
  EXPECT_FALSE(responder.disconnected());
  client.close();
  left.get_future().wait();
  EXPECT_TRUE(responder.disconnected());
  responder.respond(text("nobody reads this"));
  LoopbackClient next(server->port());
  next.send(get("/next"));
  parked.take("/next").respond(text("ok"));
  EXPECT_EQ(body_of(next.read_response()), "ok");
}

TEST(Server, AWatchSetTooLateStillFires) {
  Parked parked;
  const auto server = serve({}, parking(parked));
  LoopbackClient client(server->port());
  client.send(get("/poll"));
  Responder responder = parked.take("/poll");
  client.close();
  while (!responder.disconnected()) std::this_thread::yield();
  std::promise<void> left;
  responder.on_disconnect([&] { left.set_value(); });
  left.get_future().wait();
  responder.respond(text("x"));
}

TEST(Server, AHalfClosedClientStillGetsItsAnswers) {
  Parked parked;
  const auto server = serve({}, parking(parked));
  LoopbackClient client(server->port());
  client.send(get("/1") + get("/2"));
  client.half_close();
  Responder second = parked.take("/2");
  while (!second.disconnected()) std::this_thread::yield();
  second.respond(text("two"));
  parked.take("/1").respond(text("one"));
  EXPECT_EQ(body_of(client.read_response()), "one");
  EXPECT_EQ(body_of(client.read_response()), "two");
  EXPECT_EQ(client.read_to_end(), "");
}

TEST(Server, AnUnansweredRequestGets500AndALogLine) {
  std::promise<std::string> logged;
  const auto server =
      serve({.log = [&](std::string_view line) { logged.set_value(std::string(line)); }},
            [](Request&&, Responder) {});
  LoopbackClient client(server->port());
  client.send(get("/", "X-Request-Id: lost\r\n"));
  EXPECT_EQ(status_of(client.read_response()), "500");
  EXPECT_EQ(logged.get_future().get(), "request lost was dropped without an answer; it got a 500");
  EXPECT_EQ(server->stats().unanswered, 1U);
}

// One wake for many answers: that is what makes a group commit cheap.
TEST(Server, ABatchOfAnswersWakesTheThreadOnce) {
  Parked parked;
  const auto server = serve({.pipeline_max = 100, .pipeline_first = 100}, parking(parked));
  LoopbackClient client(server->port());
  std::vector<Responder> responders;
  for (int i = 0; i < 100; ++i) {
    client.send(get("/" + std::to_string(i)));
    responders.push_back(parked.take("/" + std::to_string(i)));
  }
  const uint64_t wakes = server->stats().wakes;
  {
    Wakes once;
    for (Responder& responder : responders) responder.respond(text("x"), &once);
  }
  for (int i = 0; i < 100; ++i) EXPECT_EQ(body_of(client.read_response()), "x");
  EXPECT_LE(server->stats().wakes - wakes, 1U);
}

TEST(Server, EndsARoundOfRequestsOnceForAll) {
  std::atomic<int> flushes{0};
  const auto make_handler = [&] {
    auto waiting = std::make_shared<std::vector<Responder>>();
    return RoundHandler{
        .handle = [waiting](Request&&,
                            Responder responder) { waiting->push_back(std::move(responder)); },
        .end_round =
            [waiting, &flushes] {
              ++flushes;
              for (Responder& responder : *waiting) responder.respond(text("flushed"));
              waiting->clear();
            }};
  };
  const auto server = Server::start({}, make_handler).value();
  LoopbackClient client(server->port());
  client.send(get("/1") + get("/2") + get("/3"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(body_of(client.read_response()), "flushed");
  EXPECT_GE(flushes.load(), 1);
  EXPECT_LE(flushes.load(), 3);
}

TEST(Server, LogsEachAnswer) {
  std::promise<std::string> logged;
  ServerConfig config;
  config.access_log = [&](const AccessRecord& record) {
    logged.set_value(std::string(record.method) + " " + std::string(record.path) + " " +
                     std::to_string(record.status) + " " + std::to_string(record.body_bytes) + " " +
                     std::string(record.id) + " " + std::string(record.peer.substr(0, 10)));
  };
  const auto server = serve(std::move(config), echo);
  LoopbackClient client(server->port());
  client.send(get("/p?q", "X-Request-Id: i\r\n"));
  EXPECT_EQ(logged.get_future().get(), "GET /p 200 11 i 127.0.0.1:");
}

TEST(Server, DrainFinishesWhatIsInFlight) {
  Parked parked;
  const auto server = serve({}, parking(parked));
  LoopbackClient busy(server->port());
  LoopbackClient idle(server->port());
  busy.send(get("/1") + get("/2"));
  Responder first = parked.take("/1");
  Responder second = parked.take("/2");
  std::thread drainer([&] { server->drain(std::chrono::seconds(60)); });
  EXPECT_EQ(idle.read_to_end(), "");
  EXPECT_FALSE(LoopbackClient(server->port()).connected());
  first.respond(text("one"));
  EXPECT_EQ(body_of(busy.read_response()), "one");
  second.respond(text("two"));
  const std::string last = busy.read_response();
  EXPECT_EQ(body_of(last), "two");
  EXPECT_NE(last.find("Connection: close"), std::string::npos);
  EXPECT_EQ(busy.read_to_end(), "");
  busy.close();
  drainer.join();
}

TEST(Server, DrainCutsWhatTakesTooLong) {
  std::atomic<bool> left{false};
  Parked parked;
  const auto server = serve({}, [&](Request&& request, Responder responder) {
    responder.on_disconnect([&] { left = true; });
    parked.add(std::move(request), std::move(responder));
  });
  LoopbackClient client(server->port());
  client.send(get("/stuck"));
  Responder stuck = parked.take("/stuck");
  server->drain(std::chrono::milliseconds(1));
  EXPECT_EQ(client.read_to_end(), "");
  EXPECT_TRUE(left);
  stuck.respond(text("to nobody"));  // the server is gone: harmless
}

}  // namespace
}  // namespace pawl::http
