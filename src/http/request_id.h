// Request ids for requests that bring none.
#pragma once

#include <array>
#include <cstddef>

namespace pawl::http {

constexpr size_t kRequestIdBytes = 40;  // "req_" and a UUID

// "req_" + UUIDv7. Unique, not secret: 74 random bits from a generator seeded once per thread.
std::array<char, kRequestIdBytes> make_request_id();

}  // namespace pawl::http
