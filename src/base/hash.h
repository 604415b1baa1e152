// Checksums and digests. crc32c guards bytes on disk; sha256 names content; equal_in_constant_time
// compares secrets.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace pawl {

uint32_t crc32c(std::string_view bytes, uint32_t seed = 0);
std::array<uint8_t, 32> sha256(std::string_view bytes);
std::string sha256_hex(std::string_view bytes);
std::string hmac_sha256_hex(std::string_view key, std::string_view bytes);
std::string to_hex(std::string_view bytes);
bool equal_in_constant_time(std::string_view a, std::string_view b);
std::string random_secret(
    size_t bytes);  // hex text of that many bytes from the system's secure source

// A fast 64-bit hash for in-memory tables and state digests; stable across machines and runs.
uint64_t hash64(std::string_view bytes, uint64_t seed = 0);

}  // namespace pawl
