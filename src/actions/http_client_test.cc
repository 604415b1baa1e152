#include "actions/http_client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <string>
#include <thread>

namespace pawl::actions {
namespace {

// Accepts one connection, records its input and answers with fixed bytes; an empty answer means
// that it reads for ever.
class OneAnswer {
 public:
  explicit OneAnswer(std::string answer) : answer_(std::move(answer)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~OneAnswer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  std::string url(const std::string& path = "/x") const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  int port() const { return port_; }
  bool connected() const { return connected_; }
  std::string received() { return received_.get_future().get(); }

 private:
  void serve() {
    int fd = ::accept(listener_, nullptr, nullptr);
    if (fd < 0) return;
    connected_ = true;
    std::string text;
    char buffer[4096];
    while (true) {
      size_t end = text.find("\r\n\r\n");
      size_t length_at = text.find("Content-Length: ");
      size_t length = length_at == std::string::npos ? 0 : std::stoul(text.substr(length_at + 16));
      if (!answer_.empty() && end != std::string::npos && text.size() >= end + 4 + length) break;
      ssize_t count = ::recv(fd, buffer, sizeof buffer, 0);
      if (count <= 0) break;
      text.append(buffer, static_cast<size_t>(count));
    }
    (void)!::send(fd, answer_.data(), answer_.size(), MSG_NOSIGNAL);
    ::close(fd);
    received_.set_value(text);
  }

  std::string answer_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> connected_{false};
  std::promise<std::string> received_;
  std::thread thread_;
};

Result<HttpResponse> fetch(HttpClient& client, HttpRequest request) {
  std::promise<Result<HttpResponse>> promise;
  auto future = promise.get_future();
  client.send(std::move(request),
              [&](Result<HttpResponse> result) { promise.set_value(std::move(result)); });
  return future.get();
}

std::string story(const Result<HttpResponse>& result) {
  if (!result.ok()) return std::string(wire_code(result.error().code));
  return std::to_string(result->status) + " " + result->body;
}

TEST(HttpClient, SendsWhatItIsToldAndReturnsTheAnswer) {
  OneAnswer server("HTTP/1.1 418 Teapot\r\nContent-Length: 2\r\nX-Kind: Tea\r\n\r\nhi");
  HttpClient client;
  auto result = fetch(client, {.method = "POST",
                               .url = server.url("/a?b=c"),
                               .headers = {{"X-One", "1"}, {"Content-Type", "text/plain"}},
                               .body = "payload",
                               .allow_private = true});
  EXPECT_EQ(story(result), "418 hi");
  EXPECT_EQ(result->headers.back(), (std::pair<std::string, std::string>("x-kind", "Tea")));
  std::string sent = server.received();
  EXPECT_EQ(sent.substr(0, 22), "POST /a?b=c HTTP/1.1\r\n");
  EXPECT_NE(sent.find("\r\nX-One: 1\r\n"), std::string::npos) << sent;
  EXPECT_EQ(sent.substr(sent.size() - 11), "\r\n\r\npayload");
}

// The refusal comes before a single packet leaves.
TEST(HttpClient, RefusesPrivateAddressesUnlessAllowed) {
  OneAnswer server("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  HttpClient client;
  std::string port = std::to_string(server.port());
  for (const std::string& url :
       {"http://127.0.0.1:" + port + "/", "http://localhost:" + port + "/",
        "http://127.1:" + port + "/", "http://2130706433:" + port + "/",
        "http://0x7f.0.0.1:" + port + "/", "http://0.0.0.0:" + port + "/",
        "http://[::1]:" + port + "/", "http://[::ffff:127.0.0.1]:" + port + "/",
        std::string("http://10.0.0.1/"), std::string("http://169.254.169.254/latest/meta-data/"),
        std::string("http://192.168.0.1/"), std::string("http://[fd00:ec2::254]/")})
    EXPECT_EQ(story(fetch(client, {.url = url, .timeout_ms = 5'000})), "forbidden") << url;
  EXPECT_FALSE(server.connected());
}

TEST(HttpClient, AConnectionThatMayBePrivateServesNoOtherRequest) {
  OneAnswer server("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n");
  HttpClient client;
  EXPECT_EQ(story(fetch(client, {.url = server.url(), .allow_private = true})), "200 ");
  EXPECT_EQ(story(fetch(client, {.url = server.url()})), "forbidden");
}

TEST(HttpClient, RefusesWhatIsNoRequest) {
  HttpClient client;
  for (const char* url :
       {"", "x", "file:///etc/passwd", "gopher://a/", "ftp://a/", "http://", "http://a b/",
        "http://user:password@example.com/", "http://a/\r\nX: y", "javascript:alert(1)"})
    EXPECT_EQ(story(fetch(client, {.url = url})), "invalid_request") << url;
  EXPECT_EQ(story(fetch(client, {.method = "G T", .url = "http://a/"})), "invalid_request");
  EXPECT_EQ(story(fetch(client, {.url = "http://a/", .headers = {{"X", "a\r\nY: b"}}})),
            "invalid_request");
  EXPECT_EQ(story(fetch(client, {.url = "http://a/", .headers = {{"X: ", "a"}}})),
            "invalid_request");
}

TEST(HttpClient, DoesNotFollowRedirects) {
  OneAnswer server(
      "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n");
  HttpClient client;
  EXPECT_EQ(story(fetch(client, {.url = server.url(), .allow_private = true})), "302 ");
}

TEST(HttpClient, BoundsTheAnswer) {
  HttpClient client;
  OneAnswer large("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789");
  EXPECT_EQ(story(fetch(client, {.url = large.url(), .max_bytes = 9, .allow_private = true})),
            "payload_too_large");
  OneAnswer cut("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789");
  EXPECT_EQ(
      story(fetch(client,
                  {.url = cut.url(), .max_bytes = 4, .cut_body = true, .allow_private = true})),
      "200 0123");
  OneAnswer fits("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789");
  EXPECT_EQ(story(fetch(client, {.url = fits.url(), .max_bytes = 10, .allow_private = true})),
            "200 0123456789");
}

TEST(HttpClient, EndsAtItsTimeout) {
  OneAnswer silent("");
  HttpClient client;
  EXPECT_EQ(story(fetch(client, {.url = silent.url(), .timeout_ms = 50, .allow_private = true})),
            "unavailable");
}

TEST(HttpClient, EndingItAnswersEveryone) {
  OneAnswer silent("");
  std::promise<std::string> under_way, waiting;
  {
    HttpClient client({.in_flight_max = 1, .waiting_max = 1});
    auto to = [](std::promise<std::string>& promise) {
      return [&](Result<HttpResponse> result) { promise.set_value(story(result)); };
    };
    client.send({.url = silent.url(), .timeout_ms = 60'000, .allow_private = true}, to(under_way));
    while (!silent.connected()) std::this_thread::yield();
    client.send({.url = silent.url(), .timeout_ms = 60'000, .allow_private = true}, to(waiting));
    EXPECT_EQ(story(fetch(client, {.url = silent.url(), .allow_private = true})), "overloaded");
  }
  EXPECT_EQ(under_way.get_future().get() + " " + waiting.get_future().get(),
            "unavailable unavailable");
}

}  // namespace
}  // namespace pawl::actions
