#include "link/target.h"

#include <netdb.h>
#include <netinet/in.h>

#include <cstring>

#include "base/read_number.h"

namespace pawl::link {

std::optional<Target> read_target(std::string_view url) {
  Target target;
  if (url.starts_with("https://")) {
    target.tls = true;
    url.remove_prefix(8);
  } else if (url.starts_with("http://")) {
    url.remove_prefix(7);
  } else {
    return std::nullopt;
  }
  if (url.ends_with('/')) url.remove_suffix(1);
  target.authority = url;
  const size_t bracket = url.find(']');
  const size_t colon = url.find(':', bracket == std::string_view::npos ? 0 : bracket);
  std::string_view host = url.substr(0, colon);
  target.port = colon == std::string_view::npos ? (target.tls ? "443" : "80")
                                                : std::string(url.substr(colon + 1));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  uint16_t port = 0;
  if (host.empty() || host.find_first_of("/@ []?#\r\n") != std::string_view::npos ||
      !read_number(target.port, port))
    return std::nullopt;
  target.host = host;
  return target;
}

std::vector<sockaddr_storage> addresses_of(const Target& target, bool numeric) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (numeric ? AI_NUMERICHOST : 0);
  addrinfo* found = nullptr;
  std::vector<sockaddr_storage> addresses;
  if (::getaddrinfo(target.host.c_str(), target.port.c_str(), &hints, &found) != 0)
    return addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (one->ai_family != AF_INET && one->ai_family != AF_INET6) continue;
    std::memcpy(&addresses.emplace_back(), one->ai_addr, one->ai_addrlen);
  }
  ::freeaddrinfo(found);
  return addresses;
}

socklen_t size_of(const sockaddr_storage& address) {
  return address.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

}  // namespace pawl::link
