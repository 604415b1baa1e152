// The head of a CBOR item: its major type and argument. For the readers of this module only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pawl::worlds::cbor {

enum Major : uint8_t {
  kMajorNat = 0,
  kMajorNegative = 1,
  kMajorBytes = 2,
  kMajorText = 3,
  kMajorArray = 4,
  kMajorMap = 5,
  kMajorTag = 6,
  kMajorSimple = 7,
};

constexpr uint64_t kSimpleFalse = 20;
constexpr uint64_t kSimpleTrue = 21;
constexpr uint64_t kSimpleNull = 22;

struct Head {
  uint8_t major = 0;
  uint8_t info = 0;  // the lower five bits; from 28 on there is no argument
  bool shortest = true;
  uint64_t argument = 0;
};

// Reads the head at `at` and moves past it. False: the bytes end within it.
inline bool take_head(std::string_view bytes, size_t& at, Head& head) {
  if (at >= bytes.size()) return false;
  const auto first = static_cast<uint8_t>(bytes[at++]);
  head.major = first >> 5;
  head.info = first & 31;
  head.shortest = true;
  head.argument = head.info;
  if (head.info < 24 || head.info > 27) return true;
  const size_t size = size_t{1} << (head.info - 24);
  if (bytes.size() - at < size) return false;
  uint64_t argument = 0;
  for (size_t i = 0; i < size; ++i) argument = argument << 8 | static_cast<uint8_t>(bytes[at++]);
  head.argument = argument;
  // The greatest argument that has a shorter head.
  const uint64_t shorter = size == 1 ? 23 : (uint64_t{1} << (size * 4)) - 1;
  head.shortest = argument > shorter;
  return true;
}

void put_head(std::string& out, uint8_t major, uint64_t argument);
size_t head_size(uint64_t argument);

bool is_utf8(std::string_view text);

}  // namespace pawl::worlds::cbor
