#include "http/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

namespace pawl::http {
namespace {

Error tls_error(const std::string& what) {
  char reason[256] = "unknown reason";
  if (const unsigned long code = ERR_peek_last_error()) {
    ERR_error_string_n(code, reason, sizeof reason);
  }
  ERR_clear_error();
  return Error{ErrorCode::InvalidRequest, what + ": " + reason};
}

}  // namespace

Result<std::unique_ptr<TlsContext>> TlsContext::load(const std::string& certificate_file,
                                                     const std::string& key_file) {
  ERR_clear_error();
  SSL_CTX* raw = SSL_CTX_new(TLS_server_method());
  if (raw == nullptr) return tls_error("TLS can not be set up");
  std::unique_ptr<TlsContext> context(new TlsContext(raw));
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_options(
      raw, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                            SSL_MODE_RELEASE_BUFFERS);
  if (SSL_CTX_use_certificate_chain_file(raw, certificate_file.c_str()) != 1) {
    return tls_error("the TLS certificate " + certificate_file + " can not be read");
  }
  if (SSL_CTX_use_PrivateKey_file(raw, key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return tls_error("the TLS key " + key_file + " can not be used");
  }
  if (SSL_CTX_check_private_key(raw) != 1) {
    return tls_error("the TLS key " + key_file + " does not fit the certificate");
  }
  return context;
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

ssl_st* TlsContext::accept(int fd) const {
  SSL* session = SSL_new(context_);
  if (session == nullptr) return nullptr;
  if (SSL_set_fd(session, fd) != 1) {
    SSL_free(session);
    return nullptr;
  }
  SSL_set_accept_state(session);
  return session;
}

}  // namespace pawl::http
