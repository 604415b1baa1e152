// Target: where a node's URL points, and the addresses of its host.
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::link {

struct Target {
  std::string host;  // a name, or an address without brackets
  std::string port;
  bool tls = false;
  std::string authority;  // for the Host header
};

// "http://host:port", also with https, without a port, with [ip6], with a last '/'.
std::optional<Target> read_target(std::string_view url);

// `numeric`: only of a host that is an address, which needs no name server and does not block.
std::vector<sockaddr_storage> addresses_of(const Target& target, bool numeric);
socklen_t size_of(const sockaddr_storage& address);

}  // namespace pawl::link
