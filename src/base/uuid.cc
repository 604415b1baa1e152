#include "base/uuid.h"

#include <bit>
#include <cstring>

namespace pawl {
namespace {

// "00" to "ff": a byte's two digits are one load.
struct HexPairs {
  char digits[512];
  constexpr HexPairs() : digits() {
    constexpr char kHex[] = "0123456789abcdef";
    for (size_t byte = 0; byte < 256; ++byte) {
      digits[2 * byte] = kHex[byte >> 4];
      digits[2 * byte + 1] = kHex[byte & 15];
    }
  }
};
constexpr HexPairs kHexPairs;

// The bytes of `word` from the `first`th highest on, as digits.
char* put_hex(char* at, uint64_t word, int first, int count) {
  for (int i = first; i < first + count; ++i, at += 2)
    std::memcpy(at, kHexPairs.digits + 2 * (word >> (56 - 8 * i) & 0xff), 2);
  return at;
}

uint64_t big_endian(uint64_t word) {
  return std::endian::native == std::endian::little ? __builtin_bswap64(word) : word;
}

int lower_hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

bool is_dash_position(size_t i) { return i == 8 || i == 13 || i == 18 || i == 23; }

}  // namespace

void Uuid::append_text(std::string& out) const {
  char buffer[36];
  char* at = put_hex(buffer, hi, 0, 4);
  *at++ = '-';
  at = put_hex(at, hi, 4, 2);
  *at++ = '-';
  at = put_hex(at, hi, 6, 2);
  *at++ = '-';
  at = put_hex(at, lo, 0, 2);
  *at++ = '-';
  put_hex(at, lo, 2, 6);
  out.append(buffer, sizeof buffer);
}

std::string Uuid::text() const {
  std::string out;
  append_text(out);
  return out;
}

void Uuid::append_bytes(std::string& out) const {
  const uint64_t words[2] = {big_endian(hi), big_endian(lo)};
  out.append(reinterpret_cast<const char*>(words), sizeof words);
}

std::string Uuid::bytes() const {
  std::string out;
  append_bytes(out);
  return out;
}

std::optional<Uuid> Uuid::parse(std::string_view text) {
  if (text.size() != 36) return std::nullopt;
  Uuid id;
  size_t nibble = 0;
  for (size_t i = 0; i < 36; ++i) {
    if (is_dash_position(i)) {
      if (text[i] != '-') return std::nullopt;
      continue;
    }
    int digit = lower_hex_digit(text[i]);
    if (digit < 0) return std::nullopt;
    uint64_t& word = nibble < 16 ? id.hi : id.lo;
    word = word << 4 | static_cast<uint64_t>(digit);
    ++nibble;
  }
  return id;
}

std::optional<Uuid> Uuid::from_bytes(std::string_view bytes) {
  uint64_t words[2];
  if (bytes.size() != sizeof words) return std::nullopt;
  std::memcpy(words, bytes.data(), sizeof words);
  Uuid id;
  id.hi = big_endian(words[0]);
  id.lo = big_endian(words[1]);
  return id;
}

Uuid Uuid::v7(int64_t unix_ms, uint64_t entropy_a, uint64_t entropy_b, uint16_t partition) {
  Uuid id;
  id.hi = static_cast<uint64_t>(unix_ms) << 16 | 0x7000 | (entropy_a & 0xfff);
  id.lo = 0x8000000000000000ULL | (entropy_b & 0x3fffffffffff0000ULL) | partition;
  return id;
}

}  // namespace pawl
