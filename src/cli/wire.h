// Wire: a connected socket, plain or TLS, read through a buffer. Thread: one at a time.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pawl::cli {

class Wire {
 public:
  // Unavailable, saying why, when nobody answers there or (TLS) the certificate is not good for the
  // host.
  static Result<std::unique_ptr<Wire>> connect(const std::string& host, int port, bool tls,
                                               const std::string& ca_file, int connect_ms,
                                               int silence_ms);
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  Status write(std::string_view bytes);
  // A line without its end; Malformed past the bound.
  Result<std::string> read_line(size_t bytes_max);
  // Between 1 and `bytes_max` bytes; empty at the end of the connection.
  Result<std::string> read_some(size_t bytes_max);
  // The other side closed, or said something nobody asked for: not fit for another request.
  bool stale() const;

 private:
  explicit Wire(int fd) : fd_(fd) {}
  Status secure(const std::string& host, const std::string& ca_file);
  Status fill();  // appends to buffer_; leaves it as it is at the end

  int fd_;
  SSL_CTX* context_ = nullptr;
  SSL* ssl_ = nullptr;
  std::string buffer_;
  size_t read_ = 0;  // of buffer_
};

}  // namespace pawl::cli
