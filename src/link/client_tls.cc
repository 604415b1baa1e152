#include "link/client_tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace pawl::link {

Result<std::unique_ptr<ClientTls>> ClientTls::load(const std::string& ca_file) {
  ERR_clear_error();
  SSL_CTX* raw = SSL_CTX_new(TLS_client_method());
  if (raw == nullptr) return Error{ErrorCode::Unavailable, "TLS can not be set up"};
  std::unique_ptr<ClientTls> made(new ClientTls(raw));
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_options(raw, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                            SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
  const int loaded = ca_file.empty() ? SSL_CTX_set_default_verify_paths(raw)
                                     : SSL_CTX_load_verify_locations(raw, ca_file.c_str(), nullptr);
  ERR_clear_error();
  if (loaded != 1) {
    return Error{ErrorCode::InvalidRequest,
                 "the TLS authorities of the other nodes can not be read: " +
                     (ca_file.empty() ? "the system has none" : ca_file)};
  }
  return made;
}

ClientTls::~ClientTls() { SSL_CTX_free(context_); }

ssl_st* ClientTls::connect(int fd, const std::string& host) const {
  SSL* session = SSL_new(context_);
  if (session == nullptr) return nullptr;
  X509_VERIFY_PARAM* expected = SSL_get0_param(session);
  const bool is_address = X509_VERIFY_PARAM_set1_ip_asc(expected, host.c_str()) == 1;
  ERR_clear_error();
  const bool named = is_address || (SSL_set1_host(session, host.c_str()) == 1 &&
                                    SSL_set_tlsext_host_name(session, host.c_str()) == 1);
  if (!named || SSL_set_fd(session, fd) != 1) {
    SSL_free(session);
    return nullptr;
  }
  SSL_set_connect_state(session);
  return session;
}

}  // namespace pawl::link
