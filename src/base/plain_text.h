// Finds the first byte of a text that JSON cannot take as it is, eight bytes at a time: texts of
// many megabytes are scanned several times on their way through the server.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace pawl::json {

enum class HighBytes : uint8_t { Plain, Special };

// How many bytes at the front are neither control characters, quotes nor backslashes, nor, if they
// are special, bytes from 0x80 on.
template <HighBytes kHigh>
inline size_t plain_length(std::string_view text) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  constexpr uint64_t kHighs = 0x8080808080808080;
  auto special = [](unsigned char c) {
    return c < 0x20 || c == '"' || c == '\\' || (kHigh == HighBytes::Special && c >= 0x80);
  };
  size_t at = 0;
  if constexpr (std::endian::native == std::endian::little) {
    for (; at + 8 <= text.size(); at += 8) {
      uint64_t word = 0;
      std::memcpy(&word, text.data() + at, 8);
      // In each line a byte's highest bit says that it is special. A borrow can set it wrongly only
      // in bytes behind one that is.
      uint64_t control = (word - kOnes * 0x20) & ~word;
      uint64_t quote = word ^ (kOnes * '"');
      uint64_t slash = word ^ (kOnes * '\\');
      uint64_t found = control | ((quote - kOnes) & ~quote) | ((slash - kOnes) & ~slash);
      if constexpr (kHigh == HighBytes::Special) found |= word;
      found &= kHighs;
      if (found != 0) return at + static_cast<size_t>(std::countr_zero(found)) / 8;
    }
  }
  while (at < text.size() && !special(static_cast<unsigned char>(text[at]))) ++at;
  return at;
}

}  // namespace pawl::json
