#include "cli/wire.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace pawl::cli {
namespace {

constexpr size_t kReadBytes = 64 * 1024;

Error broken(const std::string& why) {
  return {ErrorCode::Unavailable, "the connection broke: " + why};
}

std::string errno_text(int code) {
  if (code == EAGAIN || code == EWOULDBLOCK) return "the server is silent";
  return std::strerror(code);
}

// Connects within the time; the socket is blocking afterwards. -1 with errno set.
int connect_one(const addrinfo& address, int connect_ms) {
  int fd = ::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  int failed = ::connect(fd, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  if (failed == EINPROGRESS) {
    pollfd waiting{fd, POLLOUT, 0};
    int ready = ::poll(&waiting, 1, connect_ms);
    socklen_t size = sizeof failed;
    failed = ready == 0 ? ETIMEDOUT : ready < 0 ? errno : 0;
    if (ready > 0) ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &size);
  }
  if (failed != 0) {
    ::close(fd);
    errno = failed;
    return -1;
  }
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

void set_options(int fd, int silence_ms) {
  int yes = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  timeval time{silence_ms / 1000, silence_ms % 1000 * 1000};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

std::string tls_text(SSL* ssl) {
  long verdict = SSL_get_verify_result(ssl);
  if (verdict != X509_V_OK) return X509_verify_cert_error_string(verdict);
  unsigned long code = ERR_get_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "the handshake failed" : reason;
}

bool is_address(const std::string& host) {
  in6_addr any;
  return ::inet_pton(AF_INET, host.c_str(), &any) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &any) == 1;
}

}  // namespace

Result<std::unique_ptr<Wire>> Wire::connect(const std::string& host, int port, bool tls,
                                            const std::string& ca_file, int connect_ms,
                                            int silence_ms) {
  std::string where = host + ":" + std::to_string(port);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failed != 0)
    return Error{ErrorCode::Unavailable, "cannot find " + host + ": " + ::gai_strerror(failed)};
  int fd = -1;
  for (addrinfo* one = found; one != nullptr && fd < 0; one = one->ai_next)
    fd = connect_one(*one, connect_ms);
  int why = errno;
  ::freeaddrinfo(found);
  if (fd < 0)
    return Error{ErrorCode::Unavailable, "cannot connect to " + where + ": " + std::strerror(why)};
  set_options(fd, silence_ms);
  std::unique_ptr<Wire> wire(new Wire(fd));
  if (tls) PAWL_TRY_DO(wire->secure(host, ca_file));
  return wire;
}

Wire::~Wire() {
  SSL_free(ssl_);
  SSL_CTX_free(context_);
  ::close(fd_);
}

Status Wire::secure(const std::string& host, const std::string& ca_file) {
  context_ = SSL_CTX_new(TLS_client_method());
  PAWL_CHECK(context_ != nullptr);
  SSL_CTX_set_min_proto_version(context_, TLS1_2_VERSION);
  SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
  int loaded = ca_file.empty() ? SSL_CTX_set_default_verify_paths(context_)
                               : SSL_CTX_load_verify_locations(context_, ca_file.c_str(), nullptr);
  if (loaded != 1)
    return Error{ErrorCode::InvalidRequest, "cannot read certificates from " + ca_file};
  ssl_ = SSL_new(context_);
  PAWL_CHECK(ssl_ != nullptr);
  if (is_address(host)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_), host.c_str());
  } else {
    SSL_set1_host(ssl_, host.c_str());
    SSL_set_tlsext_host_name(ssl_, host.c_str());
  }
  SSL_set_fd(ssl_, fd_);
  ERR_clear_error();
  if (SSL_connect(ssl_) != 1)
    return Error{ErrorCode::Unavailable, "no TLS with " + host + ": " + tls_text(ssl_)};
  return ok_status();
}

Status Wire::write(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t sent = ssl_ != nullptr
                       ? SSL_write(ssl_, bytes.data(),
                                   static_cast<int>(std::min<size_t>(bytes.size(), 1 << 20)))
                       : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0 && ssl_ == nullptr && errno == EINTR) continue;
    if (sent <= 0) return broken(ssl_ != nullptr ? "TLS" : errno_text(errno));
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return ok_status();
}

Status Wire::fill() {
  if (read_ == buffer_.size()) buffer_.clear(), read_ = 0;
  size_t had = buffer_.size();
  buffer_.resize(had + kReadBytes);
  ssize_t got = 0;
  int why = 0;
  do {
    errno = 0;
    got = ssl_ != nullptr ? SSL_read(ssl_, buffer_.data() + had, kReadBytes)
                          : ::recv(fd_, buffer_.data() + had, kReadBytes, 0);
    why = errno;
  } while (got < 0 && why == EINTR);
  buffer_.resize(had + static_cast<size_t>(std::max<ssize_t>(got, 0)));
  if (got >= 0) return ok_status();
  if (ssl_ != nullptr && SSL_get_error(ssl_, static_cast<int>(got)) == SSL_ERROR_ZERO_RETURN)
    return ok_status();
  return broken(why == 0 ? "TLS" : errno_text(why));
}

Result<std::string> Wire::read_line(size_t bytes_max) {
  while (true) {
    size_t end = buffer_.find('\n', read_);
    if (end != std::string::npos) {
      std::string line = buffer_.substr(read_, end - read_);
      read_ = end + 1;
      if (!line.empty() && line.back() == '\r') line.pop_back();
      return line;
    }
    if (buffer_.size() - read_ > bytes_max)
      return Error{ErrorCode::Malformed, "the reply has an endless line"};
    size_t had = buffer_.size() - read_;
    PAWL_TRY_DO(fill());
    if (buffer_.size() - read_ == had) return broken("the server closed it");
  }
}

Result<std::string> Wire::read_some(size_t bytes_max) {
  if (read_ == buffer_.size()) PAWL_TRY_DO(fill());
  size_t size = std::min(bytes_max, buffer_.size() - read_);
  std::string some = buffer_.substr(read_, size);
  read_ += size;
  return some;
}

bool Wire::stale() const {
  if (read_ != buffer_.size()) return true;
  pollfd look{fd_, POLLIN, 0};
  if (::poll(&look, 1, 0) == 0) return false;
  if (ssl_ == nullptr) return true;
  char byte = 0;  // TLS has news of its own (session tickets); only an end matters
  return ::recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

}  // namespace pawl::cli
