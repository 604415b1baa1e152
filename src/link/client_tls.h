// ClientTls: the client side of TLS sessions with other nodes, whose certificates must be valid for
// the host of their URL. Link thread only.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

struct ssl_st;
struct ssl_ctx_st;

namespace pawl::link {

class ClientTls {
 public:
  // `ca_file`: PEM; empty: the system's authorities. TLS 1.2 at least.
  static Result<std::unique_ptr<ClientTls>> load(const std::string& ca_file);
  ClientTls& operator=(ClientTls&&) = delete;
  ~ClientTls();

  // A session that connects on `fd`; null without memory. The caller frees it with SSL_free.
  ssl_st* connect(int fd, const std::string& host) const;

 private:
  explicit ClientTls(ssl_ctx_st* context) : context_(context) {}
  ssl_ctx_st* const context_;
};

}  // namespace pawl::link
