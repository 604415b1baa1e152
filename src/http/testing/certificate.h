// A self-signed certificate in two temporary files, for tests of TLS.
#pragma once

#include <string>

#include "http/server.h"

namespace pawl::http {

class Certificate {
 public:
  // `subject` as OpenSSL writes it: "DNS:localhost", "IP:127.0.0.1".
  explicit Certificate(const std::string& subject = "DNS:localhost");
  Certificate(const Certificate&) = delete;
  Certificate& operator=(const Certificate&) = delete;
  ~Certificate();

  ServerConfig config() const;

  std::string certificate_file;
  std::string key_file;
};

}  // namespace pawl::http
