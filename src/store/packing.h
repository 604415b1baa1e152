// Packing: how the store keeps bytes that are many. What shrinks by a fifth or more is compressed
// (LZ4): a commit of megabytes holds up every commit behind it, and its time is that of the bytes
// it writes. What does not shrink costs three samples.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/result.h"

namespace pawl {

inline constexpr uint64_t kPackedBytesMin = uint64_t{256} << 10;

// Room for bytes, not filled with zeros first.
struct PackingRoom {
  std::unique_ptr<char[]> bytes;
};

// Bytes as they are stored. `unpacked` is how many they were, 0 if they are kept as they are.
struct Packed {
  std::string_view bytes;  // live as long as the room and what was given
  uint64_t unpacked = 0;
};

Packed pack(std::string_view bytes, PackingRoom& room);
// Corrupt if that is not what was packed.
Result<std::string_view> unpack(const Packed& packed, PackingRoom& room);

}  // namespace pawl
