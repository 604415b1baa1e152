// Request ids for requests that bring none.
#pragma once

#include <cstddef>
#include <string>

namespace pawl::http {

constexpr size_t kRequestIdBytes = 40;  // "req_" and a UUID

// Appends "req_" + UUIDv7. Unique, not secret.
void append_request_id(std::string& out);

}  // namespace pawl::http
