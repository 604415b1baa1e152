// The client against the project's own server on a loopback socket, and against faulty peers.
#include "cli/http_client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "http/server.h"

namespace pawl::cli {
namespace {

Url at(int port) { return {.tls = false, .host = "127.0.0.1", .port = port, .prefix = ""}; }

std::string said(const Result<HttpReply>& reply) {
  if (!reply.ok()) return std::string(wire_code(reply.error().code));
  return std::to_string(reply->status) + " " + reply->body;
}

std::string url_or_error(std::string_view text) {
  auto url = parse_url(text);
  return url.ok() ? url->text() : "refused";
}

TEST(ParseUrl, KnowsWhatItCanCall) {
  EXPECT_EQ(url_or_error("http://example.org:8080"), "http://example.org:8080");
  EXPECT_EQ(url_or_error("example.org"), "http://example.org:80");
  EXPECT_EQ(url_or_error("https://example.org/pawl/"), "https://example.org:443/pawl");
  EXPECT_EQ(url_or_error("HTTP://[::1]:9"), "http://[::1]:9");
  for (const char* bad : {"", "ftp://x", "http://", "http://x:0", "http://x:99999", "http://x:8o",
                          "http://a b", "http://u:p@x", "http://x/?a=1", "http://x\r\nHost: y"})
    EXPECT_EQ(url_or_error(bad), "refused") << bad;
}

// A server that counts its connections and echoes.
class EchoServer {
 public:
  EchoServer() {
    http::ServerConfig config;
    config.access_log = [](const http::AccessRecord&) {};
    auto started = http::Server::start(config, [](http::Request&& request,
                                                  http::Responder responder) {
      if (request.path == "/stream") {
        http::Stream stream = responder.stream({.content_type = "text/event-stream"});
        for (const char* piece : {"one", "two", "three"}) stream.write(piece);
        stream.close();
        return;
      }
      int status = request.path == "/missing" ? 404 : 200;
      std::string body = std::string(request.method) + " " + std::string(request.target) + " [" +
                         std::string(request.body) + "] " +
                         std::string(request.header("authorization"));
      responder.respond({.status = status, .content_type = "text/plain", .body = std::move(body)});
    });
    PAWL_CHECK(started.ok());
    server_ = std::move(started).value();
  }
  int port() const { return server_->port(); }
  uint64_t connections() const { return server_->stats().connections_accepted; }
  void stop() { server_->stop(); }

 private:
  std::unique_ptr<http::Server> server_;
};

TEST(HttpClient, CallsOnOneConnection) {
  EchoServer server;
  HttpClient client(at(server.port()));
  EXPECT_EQ(said(client.call("POST", "/a?b=c", "{}", {{"Authorization", "Bearer k"}})),
            "200 POST /a?b=c [{}] Bearer k");
  EXPECT_EQ(said(client.call("GET", "/missing")), "404 GET /missing [] ");
  std::string large(300'000, 'x');
  EXPECT_EQ(said(client.call("PUT", "/l", large)), "200 PUT /l [" + large + "] ");
  EXPECT_EQ(server.connections(), 1u);
}

TEST(HttpClient, PrefixStandsBeforeEveryPath) {
  EchoServer server;
  Url url = at(server.port());
  url.prefix = "/under";
  EXPECT_EQ(said(HttpClient(url).call("GET", "/x")), "200 GET /under/x [] ");
}

TEST(HttpClient, StreamsChunks) {
  EchoServer server;
  HttpClient client(at(server.port()));
  std::string all;
  auto reply = client.stream("/stream", {}, [&](std::string_view piece) {
    all += piece;
    return true;
  });
  EXPECT_EQ(said(reply), "200 ");
  EXPECT_EQ(all, "onetwothree");
  EXPECT_EQ(said(client.stream("/missing", {}, [](std::string_view) { return true; })),
            "404 GET /missing [] ");
}

// A header that would begin another one is the caller's mistake and never sent.
TEST(HttpClient, RefusesHeadersThatBreakTheirLine) {
  EchoServer server;
  HttpClient client(at(server.port()));
  EXPECT_EQ(said(client.call("GET", "/", "", {{"Authorization", "a\r\nX-Evil: 1"}})),
            "invalid_request");
}

TEST(HttpClient, SaysThatNobodyIsThere) {
  EchoServer server;
  HttpClient client(at(server.port()));
  EXPECT_EQ(said(client.call("GET", "/")), "200 GET / [] ");
  server.stop();
  EXPECT_EQ(said(client.call("GET", "/")), "unavailable");
}

// Answers the first `answered` requests of each connection with fixed bytes, then closes.
class RawServer {
 public:
  explicit RawServer(std::string bytes, int answered = 1)
      : bytes_(std::move(bytes)), answered_(answered) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    PAWL_CHECK(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    PAWL_CHECK(::listen(listener_, 8) == 0);
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  ~RawServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  int port() const { return port_; }
  int requests() const { return requests_; }

 private:
  void run() {
    for (int fd; (fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0; ::close(fd)) {
      for (int left = answered_; left > 0 && heard(fd); --left) answer(fd);
      if (answered_ > 1) heard(fd);
      ::shutdown(fd, SHUT_WR);
    }
  }
  bool heard(int fd) {
    char buffer[4096];
    bool any = ::recv(fd, buffer, sizeof buffer, 0) > 0;
    requests_ += any ? 1 : 0;
    return any;
  }
  void answer(int fd) {
    for (size_t at = 0; at < bytes_.size();) {
      ssize_t sent = ::send(fd, bytes_.data() + at, bytes_.size() - at, MSG_NOSIGNAL);
      if (sent <= 0) break;
      at += static_cast<size_t>(sent);
    }
  }

  std::string bytes_;
  int answered_;
  std::atomic<int> requests_{0};
  int listener_;
  int port_ = 0;
  std::thread thread_;
};

std::string answer_to(std::string bytes, size_t body_bytes_max = 1 << 20) {
  RawServer server(std::move(bytes));
  HttpOptions options;
  options.body_bytes_max = body_bytes_max;
  return said(HttpClient(at(server.port()), options).call("GET", "/"));
}

// A server that dies during a request may have executed it: the caller decides whether to send it
// again.
TEST(HttpClient, SendsNothingTwice) {
  for (const char* method : {"GET", "POST", "DELETE"})
    for (const char* body : {"", "{}"}) {
      RawServer server("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", 2);
      HttpClient client(at(server.port()));
      for (const char* reply : {"200 abc", "200 abc", "unavailable"})
        EXPECT_EQ(said(client.call(method, "/", body)), reply) << method << body;
      EXPECT_EQ(server.requests(), 3) << method << body;
    }
}

TEST(HttpClient, ReadsEveryKindOfBody) {
  EXPECT_EQ(answer_to("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"), "200 abc");
  EXPECT_EQ(answer_to("HTTP/1.1 200 OK\r\n\r\nuntil the end"), "200 until the end");
  EXPECT_EQ(
      answer_to("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\ncontent-length:2\r\n\r\nok"),
      "201 ok");
  EXPECT_EQ(answer_to("HTTP/1.1 200 OK\r\nTransfer-Encoding: "
                      "chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nT: t\r\n\r\n"),
            "200 abc0123456789");
  EXPECT_EQ(answer_to("HTTP/1.1 204 No Content\r\n\r\n"), "204 ");
}

TEST(HttpClient, RefusesWhatIsNoHttp) {
  EXPECT_EQ(answer_to("SSH-2.0-OpenSSH_9.2\r\n"), "invalid_payload");
  EXPECT_EQ(answer_to("HTTP/1.1 2x0 OK\r\n\r\n"), "invalid_payload");
  EXPECT_EQ(answer_to("HTTP/1.1 200 OK\r\nno colon here\r\n\r\n"), "invalid_payload");
  EXPECT_EQ(answer_to("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"), "invalid_payload");
  EXPECT_EQ(answer_to("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
            "unavailable");
  EXPECT_EQ(answer_to("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), "unavailable");
  EXPECT_EQ(answer_to(""), "unavailable");
  EXPECT_EQ(answer_to(std::string(200'000, 'x')), "invalid_payload");
  EXPECT_EQ(answer_to("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + std::string(100, 'x'), 99),
            "payload_too_large");
}

}  // namespace
}  // namespace pawl::cli
