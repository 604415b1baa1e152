#include "http/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

namespace pawl::http {
namespace {

constexpr int kBacklog = 4096;  // the kernel lowers it to net.core.somaxconn

int try_listen(const addrinfo& address) {
  const int fd = ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int on = 1;
  const int off = 0;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.ai_family == AF_INET6) {
    ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  if (::bind(fd, address.ai_addr, address.ai_addrlen) == 0 && ::listen(fd, kBacklog) == 0) {
    return fd;
  }
  const int reason = errno;
  ::close(fd);
  errno = reason;
  return -1;
}

int port_of(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

}  // namespace

Result<Listener> listen_on(const std::string& host, int port) {
  const std::string place = host + " port " + std::to_string(port);
  if (port < 0 || port > 65535) {
    return Error{ErrorCode::InvalidRequest, "can not listen on " + place + ": no such port"};
  }
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                   std::to_string(port).c_str(), &hints, &found);
  if (failed != 0) {
    return Error{ErrorCode::InvalidRequest,
                 "can not listen on " + place + ": " + ::gai_strerror(failed)};
  }
  int fd = -1;
  for (const addrinfo* one = found; one != nullptr && fd < 0; one = one->ai_next) {
    fd = try_listen(*one);
  }
  const int reason = errno;
  ::freeaddrinfo(found);
  if (fd < 0) {
    return Error{ErrorCode::Unavailable, "can not listen on " + place + ": " + strerror(reason)};
  }
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size);
  return Listener{fd, port_of(bound)};
}

std::string address_text(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, text,
                sizeof text);
    return std::string(text) + ":" + std::to_string(port_of(address));
  }
  if (address.ss_family == AF_INET6) {
    ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, text,
                sizeof text);
    return "[" + std::string(text) + "]:" + std::to_string(port_of(address));
  }
  return "?";
}

}  // namespace pawl::http
