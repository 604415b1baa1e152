// Ids for requests without one.
#pragma once

#include <cstddef>
#include <string>

#include "base/clock.h"

namespace pawl::http {

constexpr size_t kRequestIdBytes = 40;  // "req_" and a UUID

// Thread: one at a time.
class RequestIds {
 public:
  // Appends "req_" + UUIDv7. Unique, not secret.
  void append_to(std::string& out);

 private:
  SystemClock clock_;
  SystemRandom random_;
};

}  // namespace pawl::http
