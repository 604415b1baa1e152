#include "base/uuid.h"

namespace pawl {
namespace {

constexpr char kHex[] = "0123456789abcdef";

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

bool is_dash_position(size_t i) { return i == 8 || i == 13 || i == 18 || i == 23; }

}  // namespace

void Uuid::append_text(std::string& out) const {
  char buffer[36];
  size_t nibble = 0;
  for (size_t i = 0; i < 36; ++i) {
    if (is_dash_position(i)) {
      buffer[i] = '-';
      continue;
    }
    uint64_t word = nibble < 16 ? hi : lo;
    buffer[i] = kHex[(word >> (60 - 4 * (nibble & 15))) & 15];
    ++nibble;
  }
  out.append(buffer, 36);
}

std::string Uuid::text() const {
  std::string out;
  append_text(out);
  return out;
}

void Uuid::append_bytes(std::string& out) const {
  char buffer[16];
  for (size_t i = 0; i < 8; ++i) {
    buffer[i] = static_cast<char>(hi >> (56 - 8 * i));
    buffer[8 + i] = static_cast<char>(lo >> (56 - 8 * i));
  }
  out.append(buffer, 16);
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
    int digit = hex_digit(text[i]);
    if (digit < 0) return std::nullopt;
    uint64_t& word = nibble < 16 ? id.hi : id.lo;
    word = word << 4 | static_cast<uint64_t>(digit);
    ++nibble;
  }
  return id;
}

std::optional<Uuid> Uuid::from_bytes(std::string_view bytes) {
  if (bytes.size() != 16) return std::nullopt;
  Uuid id;
  for (size_t i = 0; i < 8; ++i) {
    id.hi = id.hi << 8 | static_cast<uint8_t>(bytes[i]);
    id.lo = id.lo << 8 | static_cast<uint8_t>(bytes[8 + i]);
  }
  return id;
}

Uuid Uuid::v7(int64_t unix_ms, uint64_t entropy_a, uint64_t entropy_b, uint16_t partition) {
  Uuid id;
  id.hi = static_cast<uint64_t>(unix_ms) << 16 | 0x7000 | (entropy_a & 0xfff);
  id.lo = 0x8000000000000000ULL | (entropy_b & 0x3fffffffffff0000ULL) | partition;
  return id;
}

}  // namespace pawl
