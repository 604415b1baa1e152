// Packing: how the store keeps large values. Bytes that shrink by a fifth or more are compressed
// (LZ4): a commit of megabytes delays every commit behind it, and its time depends on the bytes it
// writes. Incompressible bytes cost three samples.
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

// Bytes as they are stored. `unpacked` is their original size, 0 if they are not compressed.
struct Packed {
  std::string_view bytes;  // valid as long as the room and the input
  uint64_t unpacked = 0;
};

Packed pack(std::string_view bytes, PackingRoom& room);
// Corrupt if the bytes are not a valid packing.
Result<std::string_view> unpack(const Packed& packed, PackingRoom& room);

}  // namespace pawl
