#include "store/packing.h"

#include <lz4.h>

#include <algorithm>
#include <array>

#include "store/store.h"

namespace pawl {
namespace {

constexpr size_t kSampleBytes = 16u << 10;

static_assert(kStoreValueBytesMax < LZ4_MAX_INPUT_SIZE);

size_t worthwhile(size_t bytes) { return bytes - bytes / 5; }

// Compresses into at most out_bytes; 0 if they do not fit.
size_t pack_into(std::string_view bytes, char* out, size_t out_bytes) {
  const int size = LZ4_compress_default(bytes.data(), out, static_cast<int>(bytes.size()),
                                        static_cast<int>(out_bytes));
  return static_cast<size_t>(std::max(size, 0));
}

bool seems_to_shrink(std::string_view bytes) {
  if (bytes.size() < 4 * kSampleBytes) return true;
  std::array<char, kSampleBytes> out;
  for (size_t part : {1, 2, 3})
    if (pack_into(bytes.substr(bytes.size() / 4 * part, kSampleBytes), out.data(),
                  worthwhile(kSampleBytes)) > 0)
      return true;
  return false;
}

}  // namespace

Packed pack(std::string_view bytes, PackingRoom& room) {
  if (!seems_to_shrink(bytes)) return {bytes};
  const size_t most = worthwhile(bytes.size());
  room.bytes = std::make_unique_for_overwrite<char[]>(most);
  const size_t size = pack_into(bytes, room.bytes.get(), most);
  if (size == 0) return {bytes};
  return {{room.bytes.get(), size}, bytes.size()};
}

Result<std::string_view> unpack(const Packed& packed, PackingRoom& room) {
  if (packed.unpacked == 0) return packed.bytes;
  const Error damaged{ErrorCode::Corrupt, "packed bytes cannot be unpacked"};
  if (packed.unpacked > kStoreValueBytesMax || packed.bytes.size() > kStoreValueBytesMax)
    return damaged;
  room.bytes = std::make_unique_for_overwrite<char[]>(packed.unpacked);
  const int size =
      LZ4_decompress_safe(packed.bytes.data(), room.bytes.get(),
                          static_cast<int>(packed.bytes.size()), static_cast<int>(packed.unpacked));
  if (size < 0 || static_cast<uint64_t>(size) != packed.unpacked) return damaged;
  return std::string_view(room.bytes.get(), packed.unpacked);
}

}  // namespace pawl
