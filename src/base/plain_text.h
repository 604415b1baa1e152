// Finds the first byte of a text that JSON must escape, eight bytes at a time: texts of
// many megabytes are scanned several times on their way through the server.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace pawl::json {

enum class HighBytes : uint8_t { Plain, Special };

// The highest bit of each byte that is special. A borrow can set it wrongly only in bytes after a
// special one.
template <HighBytes kHigh>
inline uint64_t special_bytes(uint64_t word) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  constexpr uint64_t kHighs = 0x8080808080808080;
  uint64_t control = (word - kOnes * 0x20) & ~word;
  uint64_t quote = word ^ (kOnes * '"');
  uint64_t slash = word ^ (kOnes * '\\');
  uint64_t found = control | ((quote - kOnes) & ~quote) | ((slash - kOnes) & ~slash);
  if constexpr (kHigh == HighBytes::Special) found |= word;
  return found & kHighs;
}

inline size_t first_byte(uint64_t found) {
  return static_cast<size_t>(std::countr_zero(found)) / 8;
}

template <class Word>
inline uint64_t load(const char* at) {
  Word word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// The number of leading bytes that are neither control characters, quotes nor backslashes, nor, if
// kHigh says so, bytes from 0x80 on. The rest after the last whole word is read again together with
// plain bytes before it.
template <HighBytes kHigh>
inline size_t plain_length(std::string_view text) {
  const char* data = text.data();
  const size_t size = text.size();
  size_t at = 0;
  if constexpr (std::endian::native == std::endian::little) {
    for (; at + 8 <= size; at += 8)
      if (uint64_t found = special_bytes<kHigh>(load<uint64_t>(data + at)))
        return at + first_byte(found);
    if (size >= 8) {
      uint64_t found = special_bytes<kHigh>(load<uint64_t>(data + size - 8));
      return found == 0 ? size : size - 8 + first_byte(found);
    }
    if (size >= 4) {
      uint64_t two = load<uint32_t>(data) | load<uint32_t>(data + size - 4) << 32;
      uint64_t found = special_bytes<kHigh>(two);
      if (found == 0) return size;
      return first_byte(found) < 4 ? first_byte(found) : size - 8 + first_byte(found);
    }
  }
  auto special = [](unsigned char c) {
    return c < 0x20 || c == '"' || c == '\\' || (kHigh == HighBytes::Special && c >= 0x80);
  };
  while (at < size && !special(static_cast<unsigned char>(data[at]))) ++at;
  return at;
}

}  // namespace pawl::json
