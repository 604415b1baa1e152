// A server with an untrusted certificate: reached only with tls_skip_verify.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <unistd.h>

#include "actions/testing/action_world.h"

namespace pawl::actions {
namespace {

struct SelfSigned {
  SelfSigned() {
    key = EVP_EC_gen("P-256");
    certificate = X509_new();
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME* name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("127.0.0.1"), -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    X509_sign(certificate, key, EVP_sha256());
  }
  SelfSigned(const SelfSigned&) = delete;
  SelfSigned& operator=(const SelfSigned&) = delete;
  ~SelfSigned() {
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
  EVP_PKEY* key;
  X509* certificate;
};

// Accepts a given number of TLS connections, one after the other.
class TlsServer {
 public:
  explicit TlsServer(int connections) : context_(SSL_CTX_new(TLS_server_method())) {
    SelfSigned identity;
    SSL_CTX_use_certificate(context_, identity.certificate);
    SSL_CTX_use_PrivateKey(context_, identity.key);
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    url_ = "https://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/";
    thread_ = std::thread([this, connections] {
      for (int i = 0; i < connections; ++i) serve();
    });
  }
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;
  ~TlsServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
    SSL_CTX_free(context_);
  }
  const std::string& url() const { return url_; }
  int served() const { return served_; }

 private:
  void serve() {
    int fd = ::accept(listener_, nullptr, nullptr);
    if (fd < 0) return;
    SSL* ssl = SSL_new(context_);
    SSL_set_fd(ssl, fd);
    char buffer[4096];
    if (SSL_accept(ssl) == 1 && SSL_read(ssl, buffer, sizeof buffer) > 0) {
      const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
      SSL_write(ssl, answer.data(), static_cast<int>(answer.size()));
      ++served_;
    }
    SSL_free(ssl);
    ::close(fd);
  }

  SSL_CTX* context_;
  int listener_ = -1;
  std::string url_;
  std::atomic<int> served_{0};
  std::thread thread_;
};

TEST(HttpTls, AnUnknownCertificateIsRefusedUnlessToldOtherwise) {
  TlsServer server(3);
  ActionRunner runner(ActionPolicy::local());
  auto get = [&](bool skip) {
    return run(runner, "http.get", Value::Object{{"url", server.url()}, {"tls_skip_verify", skip}});
  };
  EXPECT_EQ(story(get(false)), "EXECUTION_ERROR!");
  EXPECT_EQ(server.served(), 0);
  ActionOutcome trusting = get(true);
  ASSERT_TRUE(trusting.ok) << trusting.message;
  EXPECT_EQ(trusting.output.find("body")->as_string(), "hi");
  // An unverified connection is not reused for a request that requires verification.
  EXPECT_EQ(story(get(false)), "EXECUTION_ERROR!");
}

}  // namespace
}  // namespace pawl::actions
