// CRC-32C, by the processor's own instruction where there is one, else by tables.
#include <cstring>

#include "base/hash.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

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

uint64_t word_at(const char* at) {
  uint64_t word;
  std::memcpy(&word, at, 8);
  return word;
}

uint32_t by_tables(uint32_t crc, const char* at, size_t left) {
  const auto& t = tables().table;
  for (; left >= 8; at += 8, left -= 8) {
    const uint64_t word = word_at(at) ^ crc;
    crc = t[7][word & 0xff] ^ t[6][word >> 8 & 0xff] ^ t[5][word >> 16 & 0xff] ^
          t[4][word >> 24 & 0xff] ^ t[3][word >> 32 & 0xff] ^ t[2][word >> 40 & 0xff] ^
          t[1][word >> 48 & 0xff] ^ t[0][word >> 56];
  }
  while (left-- > 0) crc = crc >> 8 ^ t[0][(crc ^ static_cast<uint8_t>(*at++)) & 0xff];
  return crc;
}

#if defined(__x86_64__)

// The instruction takes three cycles, but one can be started in each: three lanes run side by side,
// and the crc of a lane is moved over the bytes of the next one by a table.
constexpr size_t kLaneBytes = 256;

struct LaneShift {
  uint32_t table[4][256];
  LaneShift() {
    const char zeros[kLaneBytes] = {};
    for (uint32_t k = 0; k < 4; ++k)
      for (uint32_t i = 0; i < 256; ++i) table[k][i] = by_tables(i << (8 * k), zeros, kLaneBytes);
  }
  uint32_t operator()(uint64_t crc) const {
    return table[0][crc & 0xff] ^ table[1][crc >> 8 & 0xff] ^ table[2][crc >> 16 & 0xff] ^
           table[3][crc >> 24 & 0xff];
  }
};

__attribute__((target("sse4.2"))) uint32_t by_instruction(uint32_t crc, const char* at,
                                                          size_t left) {
  static const LaneShift shifted;
  uint64_t a = crc;
  for (; left >= 3 * kLaneBytes; at += 3 * kLaneBytes, left -= 3 * kLaneBytes) {
    uint64_t b = 0;
    uint64_t c = 0;
    for (size_t i = 0; i < kLaneBytes; i += 8) {
      a = _mm_crc32_u64(a, word_at(at + i));
      b = _mm_crc32_u64(b, word_at(at + kLaneBytes + i));
      c = _mm_crc32_u64(c, word_at(at + 2 * kLaneBytes + i));
    }
    a = shifted(shifted(a) ^ b) ^ c;
  }
  for (; left >= 8; at += 8, left -= 8) a = _mm_crc32_u64(a, word_at(at));
  auto rest = static_cast<uint32_t>(a);
  while (left-- > 0) rest = _mm_crc32_u8(rest, static_cast<uint8_t>(*at++));
  return rest;
}

#endif

}  // namespace

uint32_t crc32c(std::string_view bytes, uint32_t seed) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return ~by_instruction(~seed, bytes.data(), bytes.size());
#endif
  return ~by_tables(~seed, bytes.data(), bytes.size());
}

}  // namespace pawl
