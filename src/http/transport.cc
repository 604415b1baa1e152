#include "http/transport.h"

#include <errno.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "http/out_queue.h"

namespace pawl::http {
namespace {

constexpr size_t kVectorsMax = 16;
using Kind = IoOutcome::Kind;

IoOutcome plain_outcome(ssize_t returned) {
  if (returned > 0) return {Kind::Done, static_cast<size_t>(returned)};
  if (returned == 0) return {Kind::Closed};
  return {errno == EAGAIN || errno == EWOULDBLOCK ? Kind::WouldBlock : Kind::Failed};
}

int tls_size(size_t bytes) {
  return static_cast<int>(std::min<size_t>(bytes, std::numeric_limits<int>::max()));
}

}  // namespace

IoOutcome Transport::tls_outcome(int returned) {
  if (returned > 0) return {Kind::Done, static_cast<size_t>(returned)};
  const int reason = SSL_get_error(tls_, returned);
  if (reason == SSL_ERROR_WANT_READ || reason == SSL_ERROR_WANT_WRITE) return {Kind::WouldBlock};
  return {reason == SSL_ERROR_ZERO_RETURN ? Kind::Closed : Kind::Failed};
}

IoOutcome Transport::handshake() {
  ERR_clear_error();
  const IoOutcome outcome = tls_outcome(SSL_do_handshake(tls_));
  if (outcome.kind == Kind::Done) handshaking_ = false;
  if (outcome.kind == Kind::Failed && ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST) {
    answer_plain_http();
  }
  return outcome;
}

// Sends as much as possible at once. The client's input is read first: closing with unread input
// would reset the connection and destroy the answer.
void Transport::answer_plain_http() {
  constexpr std::string_view kAnswer =
      "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: 89\r\n"
      "Connection: close\r\n\r\n"
      R"({"error":{"code":"https_required","message":"this port speaks HTTPS; ask with https://"}})";
  std::array<char, 16 * 1024> unread;
  while (::recv(fd_, unread.data(), unread.size(), 0) > 0) {
  }
  if (::send(fd_, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL) < 0) return;
  ::shutdown(fd_, SHUT_WR);
}

IoOutcome Transport::read(std::span<char> into) {
  if (tls_ != nullptr) {
    ERR_clear_error();
    return tls_outcome(SSL_read(tls_, into.data(), tls_size(into.size())));
  }
  ssize_t received = 0;
  do {
    received = ::recv(fd_, into.data(), into.size(), 0);
  } while (received < 0 && errno == EINTR);
  return plain_outcome(received);
}

IoOutcome Transport::write(const OutQueue& queue) {
  return tls_ != nullptr ? write_tls(queue) : write_plain(queue);
}

IoOutcome Transport::write_plain(const OutQueue& queue) {
  std::array<iovec, kVectorsMax> vectors;
  const size_t count = queue.gather(vectors);
  ssize_t sent = 0;
  do {
    if (count == 1) {
      sent = ::send(fd_, vectors[0].iov_base, vectors[0].iov_len, MSG_NOSIGNAL);
    } else {
      msghdr header{};
      header.msg_iov = vectors.data();
      header.msg_iovlen = count;
      sent = ::sendmsg(fd_, &header, MSG_NOSIGNAL);
    }
  } while (sent < 0 && errno == EINTR);
  return plain_outcome(sent);
}

IoOutcome Transport::write_tls(const OutQueue& queue) {
  std::array<iovec, 1> vectors;
  if (queue.gather(vectors) == 0) return {Kind::WouldBlock};
  ERR_clear_error();
  return tls_outcome(SSL_write(tls_, vectors[0].iov_base, tls_size(vectors[0].iov_len)));
}

TakenBytes Transport::taken() const {
  TakenBytes result;
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(fd_, IPPROTO_TCP, TCP_INFO, &info, &size) == 0)
    result.taken = info.tcpi_bytes_acked;
  int waiting = 0;
  if (::ioctl(fd_, SIOCOUTQ, &waiting) == 0) result.waiting = static_cast<uint64_t>(waiting);
  return result;
}

void Transport::discard_unsent() {
  const linger at_once{1, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

void Transport::shut_write() {
  if (tls_ != nullptr && !handshaking_) {
    ERR_clear_error();
    SSL_shutdown(tls_);
  }
  ::shutdown(fd_, SHUT_WR);
}

void Transport::close() {
  if (tls_ != nullptr) SSL_free(tls_);
  tls_ = nullptr;
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

}  // namespace pawl::http
