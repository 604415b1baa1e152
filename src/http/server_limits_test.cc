// Every limit of the server, seen by a client that breaks it.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <random>
#include <thread>

#include "http/testing/server_fixture.h"

namespace pawl::http {
namespace {

using namespace std::string_literals;

std::string outcome(int port, std::string_view bytes) {
  LoopbackClient client(port);
  client.send(bytes);
  return client.read_to_end();
}

TEST(ServerLimits, RefusesAConfigurationThatCanNotWork) {
  EXPECT_FALSE(Server::start({.host = "no such host."}, echo).ok());
  EXPECT_FALSE(Server::start({.port = 70000}, echo).ok());
  EXPECT_FALSE(Server::start({.io_threads = 0}, echo).ok());
  EXPECT_FALSE(Server::start({.tls_certificate_file = "/nonexistent"}, echo).ok());
  EXPECT_FALSE(
      Server::start({.tls_certificate_file = "/nonexistent", .tls_key_file = "/nonexistent"}, echo)
          .ok());
}

TEST(ServerLimits, EachLimitHasItsStatus) {
  const auto server = serve(
      {.header_bytes_max = 1000, .target_bytes_max = 100, .headers_max = 3, .body_bytes_max = 10},
      echo);
  const int port = server->port();
  const std::string post = "POST / HTTP/1.1\r\nHost: h\r\n";
  EXPECT_EQ(status_of(outcome(port, "nonsense\r\n\r\n")), "400");
  EXPECT_EQ(status_of(outcome(port, get("/" + std::string(100, 'x')))), "414");
  EXPECT_EQ(status_of(outcome(port, get("/", "A: " + std::string(1000, 'x') + "\r\n"))), "431");
  EXPECT_EQ(status_of(outcome(port, get("/", "A: 1\r\nB: 1\r\nC: 1\r\n"))), "431");
  EXPECT_EQ(status_of(outcome(port, post + "Content-Length: 11\r\n\r\n")), "413");
  EXPECT_EQ(
      status_of(outcome(port, post + "Transfer-Encoding: chunked\r\n\r\nb\r\n01234567890\r\n")),
      "413");
  EXPECT_EQ(status_of(outcome(port, post + "Transfer-Encoding: br\r\n\r\n")), "501");
  EXPECT_EQ(status_of(outcome(port, "GET / HTTP/3.0\r\n\r\n")), "505");
  const std::string refused = outcome(port, "GET / HTTP/1.1\r\n\r\n");
  EXPECT_NE(refused.find("\r\nConnection: close\r\n"), std::string::npos);
  EXPECT_EQ(body_of(refused),
            R"({"error":{"code":"bad_host","message":"exactly one Host header is required"}})");
  EXPECT_EQ(server->stats().requests, 0U);
  EXPECT_EQ(server->stats().requests_bad, 9U);
}

// Answers of good requests before a bad one are sent first; nothing after it is read.
TEST(ServerLimits, ABadRequestEndsTheConnectionInOrder) {
  Parked parked;
  const auto server = serve({}, parking(parked));
  LoopbackClient client(server->port());
  client.send(get("/good") + "bad\r\n\r\n" + get("/never"));
  parked.take("/good").respond(text("good"));
  EXPECT_EQ(body_of(client.read_response()), "good");
  EXPECT_EQ(status_of(client.read_to_end()), "400");
  EXPECT_EQ(server->stats().requests, 1U);
}

TEST(ServerLimits, SlowHeadsAndBodiesGet408) {
  const auto server = serve({.header_read_ms = 30, .body_read_ms = 30}, echo);
  LoopbackClient slow_head(server->port());
  slow_head.send("GET / HTTP/1.1\r\nHo");
  EXPECT_EQ(status_of(slow_head.read_to_end()), "408");
  LoopbackClient slow_body(server->port());
  slow_body.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc");
  EXPECT_EQ(status_of(slow_body.read_to_end()), "408");
  EXPECT_EQ(server->stats().timeouts, 2U);
}

// Dripping bytes must not extend the time a head may take.
TEST(ServerLimits, SlowlorisIsClosedWhileItDrips) {
  const auto server = serve({.header_read_ms = 50}, echo);
  LoopbackClient client(server->port());
  client.send("GET / HTTP/1.1\r\nHost: h\r\nX: ");
  pollfd readable{client.fd(), POLLIN, 0};
  while (::poll(&readable, 1, 5) == 0) client.send("x");
  EXPECT_EQ(status_of(client.read_to_end()), "408");
}

TEST(ServerLimits, IdleConnectionsAreClosedSilently) {
  const auto server = serve({.idle_ms = 20}, echo);
  LoopbackClient fresh(server->port());
  EXPECT_EQ(fresh.read_to_end(), "");
  LoopbackClient used(server->port());
  used.send(get("/"));
  EXPECT_EQ(status_of(used.read_response()), "200");
  EXPECT_EQ(used.read_to_end(), "");
}

// A parked request is not idle: only its handler knows how long it takes.
TEST(ServerLimits, ParkedRequestsOutliveTheIdleLimit) {
  Parked parked;
  const auto server =
      serve({.idle_ms = 10, .header_read_ms = 10, .body_read_ms = 10}, parking(parked));
  LoopbackClient client(server->port());
  client.send(get("/parked"));
  Responder responder = parked.take("/parked");
  LoopbackClient other(server->port());
  EXPECT_EQ(other.read_to_end(), "");  // closed for idling, so that time has certainly passed
  responder.respond(text("late"));
  EXPECT_EQ(body_of(client.read_response()), "late");
}

TEST(ServerLimits, AClientThatTakesNoBytesIsCut) {
  std::promise<void> answered;
  const auto server = serve({.write_stall_ms = 30}, [&](Request&&, Responder responder) {
    responder.respond(text(std::string(30'000'000, 'x')));
    answered.set_value();
  });
  LoopbackClient client(server->port(), 4096);
  client.send(get("/"));
  answered.get_future().wait();
  while (server->stats().slow_readers_cut == 0) std::this_thread::yield();
  EXPECT_LT(client.read_to_end().size(), 30'000'000U);
}

TEST(ServerLimits, TooManyConnectionsGet503) {
  const auto server = serve({.connections_max = 1}, echo);
  LoopbackClient first(server->port());
  first.send(get("/"));
  EXPECT_EQ(status_of(first.read_response()), "200");
  {
    LoopbackClient second(server->port());
    EXPECT_EQ(status_of(second.read_to_end()), "503");
  }
  first.close();
  while (server->stats().connections_open > 0) std::this_thread::yield();
  LoopbackClient third(server->port());
  third.send(get("/"));
  EXPECT_EQ(status_of(third.read_response()), "200");
  EXPECT_EQ(server->stats().connections_refused, 1U);
}

TEST(ServerLimits, SurvivesGarbage) {
  const auto server = serve({.header_bytes_max = 2000, .header_read_ms = 1000}, echo);
  std::minstd_rand random(42);
  const std::string alphabet = "GET POST/HTTP1.:\r\n\t\0\x7f\x80 chunked,Content-Length;%"s;
  for (int i = 0; i < 1000; ++i) {
    std::string bytes = i % 2 == 0 ? "" : "GET / HTTP/1.1\r\nHost: h\r\n";
    const size_t length = random() % 200;
    for (size_t at = 0; at < length; ++at) bytes += alphabet[random() % alphabet.size()];
    LoopbackClient client(server->port());
    client.send(bytes);
    client.half_close();
    const std::string answer = client.read_to_end();
    const bool refused = answer.empty() || answer.starts_with("HTTP/1.1 4") ||
                         answer.starts_with("HTTP/1.1 50") || answer.starts_with("HTTP/1.1 2");
    EXPECT_TRUE(refused && !answer.starts_with("HTTP/1.1 500")) << answer;
  }
  LoopbackClient client(server->port());
  client.send(get("/still-here"));
  EXPECT_EQ(body_of(client.read_response()), "GET /still-here []");
}

// Out of descriptors the server still takes clients out of the queue to close them, and recovers.
TEST(ServerLimits, RefusesClientsWithoutDescriptorsAndRecovers) {
#if defined(PAWL_SANITIZED)
  GTEST_SKIP() << "the sanitizers' own checks need descriptors";
#endif
  std::promise<std::string> logged;
  const auto server =
      serve({.log = [&](std::string_view line) { logged.set_value(std::string(line)); }}, echo);
  const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  // The lowest free number is what the next descriptor would get: allow none from there on.
  const int lowest_free = ::dup(client);
  ::close(lowest_free);
  const rlimit none{static_cast<rlim_t>(lowest_free), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(server->port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  char byte = 0;
  EXPECT_LE(::recv(client, &byte, 1, 0), 0);
  EXPECT_EQ(logged.get_future().get(), "clients are refused: no file descriptors left");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ::close(client);
  EXPECT_EQ(server->stats().connections_refused, 1U);
  LoopbackClient next(server->port());
  next.send(get("/"));
  EXPECT_EQ(status_of(next.read_response()), "200");
}

}  // namespace
}  // namespace pawl::http
