// A listening socket, and names for addresses.
#pragma once

#include <sys/socket.h>

#include <string>

#include "base/result.h"

namespace pawl::http {

struct Listener {
  int fd;
  int port;
};

// Binds the first address of `host`. Not SO_REUSEPORT: a second server on the same port
// must fail to start, not take half of the clients.
Result<Listener> listen_on(const std::string& host, int port);

// "127.0.0.1:80", "[::1]:80"; "?" for a family it does not know.
std::string address_text(const sockaddr_storage& address);

}  // namespace pawl::http
