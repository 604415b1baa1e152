// EchoServer: the least an HTTP server can do, as a yardstick. A forked child with one thread and
// one epoll set answers every request with the same small JSON body: no parsing beyond where a
// request ends, no storage. What Pawl reaches of its rate is what durability and JSON leave.
#pragma once

#include <sys/types.h>

#include <memory>

#include "base/result.h"
#include "http_client.h"

namespace pawl::bench {

class EchoServer {
 public:
  static Result<std::unique_ptr<EchoServer>> start();
  ~EchoServer();
  EchoServer(const EchoServer&) = delete;
  EchoServer& operator=(const EchoServer&) = delete;

  pid_t pid() const { return pid_; }
  const Address& address() const { return address_; }

 private:
  EchoServer() = default;
  pid_t pid_ = -1;
  Address address_;
};

}  // namespace pawl::bench
