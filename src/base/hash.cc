#include "base/hash.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <cstring>

#include "base/check.h"
#include "base/clock.h"

namespace pawl {
namespace {

constexpr uint32_t kCastagnoli = 0x82f63b78;

struct Crc32cTables {
  uint32_t table[8][256];
  Crc32cTables() {
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t crc = i;
      for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? kCastagnoli : 0);
      table[0][i] = crc;
    }
    for (uint32_t i = 0; i < 256; ++i)
      for (int k = 1; k < 8; ++k)
        table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 0xff];
  }
};

const Crc32cTables& tables() {
  static const Crc32cTables instance;
  return instance;
}

}  // namespace

uint32_t crc32c(std::string_view bytes, uint32_t seed) {
  const auto& t = tables().table;
  uint32_t crc = ~seed;
  const char* at = bytes.data();
  size_t left = bytes.size();
  while (left >= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    word ^= crc;
    crc = t[7][word & 0xff] ^ t[6][word >> 8 & 0xff] ^ t[5][word >> 16 & 0xff] ^
          t[4][word >> 24 & 0xff] ^ t[3][word >> 32 & 0xff] ^ t[2][word >> 40 & 0xff] ^
          t[1][word >> 48 & 0xff] ^ t[0][word >> 56];
    at += 8;
    left -= 8;
  }
  while (left-- > 0) crc = crc >> 8 ^ t[0][(crc ^ static_cast<uint8_t>(*at++)) & 0xff];
  return ~crc;
}

std::array<uint8_t, 32> sha256(std::string_view bytes) {
  std::array<uint8_t, 32> out{};
  unsigned size = 0;
  PAWL_CHECK(EVP_Digest(bytes.data(), bytes.size(), out.data(), &size, EVP_sha256(), nullptr) == 1);
  return out;
}

std::string to_hex(std::string_view bytes) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (char c : bytes) {
    out.push_back(kHex[static_cast<uint8_t>(c) >> 4]);
    out.push_back(kHex[static_cast<uint8_t>(c) & 15]);
  }
  return out;
}

std::string sha256_hex(std::string_view bytes) {
  auto digest = sha256(bytes);
  return to_hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

std::string hmac_sha256_hex(std::string_view key, std::string_view bytes) {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  PAWL_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                  reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), out, &size));
  return to_hex({reinterpret_cast<const char*>(out), size});
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string random_secret(size_t bytes) {
  std::string raw(bytes, '\0');
  PAWL_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(raw.data()), static_cast<int>(bytes)) ==
             1);
  return to_hex(raw);
}

uint64_t hash64(std::string_view bytes, uint64_t seed) {
  uint64_t state = seed ^ mix64(bytes.size());
  while (bytes.size() >= 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), 8);
    state = mix64(state ^ word);
    bytes.remove_prefix(8);
  }
  uint64_t tail = 0;
  std::memcpy(&tail, bytes.data(), bytes.size());
  return mix64(state ^ tail);
}

}  // namespace pawl
