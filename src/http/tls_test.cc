#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <future>
#include <memory>

#include "http/server.h"
#include "http/testing/certificate.h"
#include "http/testing/loopback_client.h"

namespace pawl::http {
namespace {

class TlsClient {
 public:
  explicit TlsClient(int port, int version_max = 0)
      : socket_(port), context_(SSL_CTX_new(TLS_client_method())) {
    SSL_CTX_set_security_level(context_, 0);  // so that the client would speak old versions
    if (version_max != 0) {
      SSL_CTX_set_min_proto_version(context_, TLS1_VERSION);
      SSL_CTX_set_max_proto_version(context_, version_max);
    }
    session_ = SSL_new(context_);
    SSL_set_fd(session_, socket_.fd());
    connected_ = SSL_connect(session_) == 1;
  }
  ~TlsClient() {
    SSL_free(session_);
    SSL_CTX_free(context_);
  }
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  bool connected() const { return connected_; }
  void send(std::string_view bytes) {
    SSL_write(session_, bytes.data(), static_cast<int>(bytes.size()));
  }
  std::string read_until(std::string_view mark) {
    std::string received;
    char buffer[4096];
    while (received.find(mark) == std::string::npos) {
      const int count = SSL_read(session_, buffer, sizeof buffer);
      if (count <= 0) break;
      received.append(buffer, static_cast<size_t>(count));
    }
    return received;
  }

 private:
  LoopbackClient socket_;
  SSL_CTX* context_;
  SSL* session_ = nullptr;
  bool connected_ = false;
};

TEST(Tls, RoundTripWithLargeBodiesAndPipelining) {
  const Certificate certificate;
  const auto server =
      Server::start(certificate.config(), [](Request&& request, Responder responder) {
        responder.respond({.body = std::string(request.body) + "|"});
      });
  ASSERT_TRUE(server.ok()) << server.error().message;
  EXPECT_TRUE((*server)->tls());
  TlsClient client((*server)->port());
  ASSERT_TRUE(client.connected());
  const std::string body(300'000, 'b');
  const std::string request = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 300000\r\n\r\n" + body;
  client.send(request);
  EXPECT_EQ(body_of(client.read_until("|")), body + "|");
  client.send(
      "GET / HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  const std::string both = client.read_until("never: the server closes");
  EXPECT_EQ(both.substr(both.size() - 5), "\r\n\r\n|");
  EXPECT_NE(both.find("|HTTP/1.1 200 OK"), std::string::npos);
}

TEST(Tls, StreamsFromAnotherThread) {
  const Certificate certificate;
  std::promise<Stream> stream_promise;
  const auto server = Server::start(certificate.config(), [&](Request&&, Responder responder) {
    stream_promise.set_value(responder.stream({.content_type = "text/event-stream"}));
  });
  ASSERT_TRUE(server.ok()) << server.error().message;
  TlsClient client((*server)->port());
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  Stream stream = stream_promise.get_future().get();
  EXPECT_TRUE(stream.write("data: 1\n\n"));
  EXPECT_EQ(status_of(client.read_until("data: 1")), "200");
  stream.write("data: 2\n\n");
  stream.close();
  EXPECT_NE(client.read_until("0\r\n\r\n").find("data: 2"), std::string::npos);
}

TEST(Tls, RefusesOldVersionsAndPlainText) {
  const Certificate certificate;
  const auto server = Server::start(certificate.config(), [](Request&&, Responder responder) {
    responder.respond({.body = "x"});
  });
  ASSERT_TRUE(server.ok()) << server.error().message;
  EXPECT_FALSE(TlsClient((*server)->port(), TLS1_1_VERSION).connected());
  EXPECT_TRUE(TlsClient((*server)->port(), TLS1_2_VERSION).connected());
  LoopbackClient plain((*server)->port());
  plain.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  const std::string told = plain.read_to_end();
  EXPECT_EQ(status_of(told), "400");
  EXPECT_EQ(body_of(told).size(), std::stoul(told.substr(told.find("Length: ") + 8)));
  EXPECT_NE(told.find("https_required"), std::string::npos);
  LoopbackClient garbage((*server)->port());
  garbage.send(std::string(5000, '\x17'));
  EXPECT_EQ(garbage.read_to_end().find("HTTP/"), std::string::npos);
  EXPECT_EQ((*server)->stats().requests, 0U);
}

TEST(Tls, AHandshakeThatNeverComesIsClosed) {
  const Certificate certificate;
  ServerConfig config = certificate.config();
  config.header_read_ms = 30;
  const auto server = Server::start(std::move(config), [](Request&&, Responder) {});
  ASSERT_TRUE(server.ok()) << server.error().message;
  LoopbackClient silent((*server)->port());
  EXPECT_EQ(silent.read_to_end(), "");
  EXPECT_EQ((*server)->stats().timeouts, 1U);
}

TEST(Tls, RefusesAKeyThatDoesNotFit) {
  const Certificate certificate;
  ServerConfig config = certificate.config();
  config.tls_key_file = config.tls_certificate_file;
  const auto server = Server::start(std::move(config), [](Request&&, Responder) {});
  ASSERT_FALSE(server.ok());
  EXPECT_NE(server.error().message.find("key"), std::string::npos);
}

}  // namespace
}  // namespace pawl::http
