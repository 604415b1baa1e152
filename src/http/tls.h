// TlsContext: certificate and key, loaded once; makes the server side of a TLS session.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

struct ssl_st;
struct ssl_ctx_st;

namespace pawl::http {

class TlsContext {
 public:
  // TLS 1.2 at least, no renegotiation, no compression. Fails if a file cannot be read or the key
  // does not belong to the certificate.
  static Result<std::unique_ptr<TlsContext>> load(const std::string& certificate_file,
                                                  const std::string& key_file);
  TlsContext& operator=(TlsContext&&) = delete;
  ~TlsContext();

  // A session that accepts on `fd`; null without memory. The caller frees it with SSL_free.
  ssl_st* accept(int fd) const;

 private:
  explicit TlsContext(ssl_ctx_st* context) : context_(context) {}
  ssl_ctx_st* context_;
};

}  // namespace pawl::http
