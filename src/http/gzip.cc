#include "http/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

namespace pawl::http {
namespace {

constexpr int kGzipWindowBits = 15 + 16;  // zlib: +16 asks for the gzip wrapper
constexpr int kMemoryLevel = 8;
constexpr size_t kStepBytesMax = 64 * 1024;
constexpr size_t kZlibBytesMax = std::numeric_limits<uInt>::max();

// zlib never writes through next_in, but its type is not const.
Bytef* input_of(std::string_view bytes) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
}

// The last four bytes of gzip data: the size modulo 2^32, as claimed by the sender.
size_t claimed_bytes(std::string_view packed) {
  size_t bytes = 0;
  for (size_t i = 0; i < 4 && i < packed.size(); ++i)
    bytes = bytes << 8 | static_cast<uint8_t>(packed[packed.size() - 1 - i]);
  return bytes;
}

}  // namespace

std::optional<std::string> gzip(std::string_view plain) {
  if (plain.size() > kZlibBytesMax / 2) return std::nullopt;
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindowBits, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return std::nullopt;
  }
  std::string packed(deflateBound(&stream, static_cast<uLong>(plain.size())), '\0');
  stream.next_in = input_of(plain);
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int outcome = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (outcome != Z_STREAM_END) return std::nullopt;
  return packed;
}

InflateFault gunzip(std::string_view packed, size_t bytes_max, std::string& plain) {
  return gunzip(packed, bytes_max, plain, [](size_t) { return true; });
}

InflateFault gunzip(std::string_view packed, size_t bytes_max, std::string& plain,
                    MayGrow may_grow) {
  plain.clear();
  if (packed.size() > kZlibBytesMax) return InflateFault::TooLarge;
  z_stream stream{};
  if (inflateInit2(&stream, kGzipWindowBits) != Z_OK) return InflateFault::TooLarge;
  stream.next_in = input_of(packed);
  stream.avail_in = static_cast<uInt>(packed.size());
  InflateFault fault = InflateFault::None;
  // The claimed size only saves copies while growing: the bound does not depend on it.
  plain.reserve(std::min(claimed_bytes(packed), bytes_max) + 1);
  for (int outcome = Z_OK; outcome != Z_STREAM_END;) {
    const size_t had = plain.size();
    // One byte beyond the bound tells "exactly full" from "too large".
    const size_t step = std::min(kStepBytesMax, bytes_max - had + 1);
    if (!may_grow(had + step)) {
      fault = InflateFault::NoRoom;
      break;
    }
    plain.resize(had + step);
    stream.next_out = reinterpret_cast<Bytef*>(plain.data() + had);
    stream.avail_out = static_cast<uInt>(step);
    outcome = inflate(&stream, Z_NO_FLUSH);
    plain.resize(had + step - stream.avail_out);
    if (outcome != Z_OK && outcome != Z_STREAM_END) {
      fault = InflateFault::Corrupt;  // Z_BUF_ERROR too: the input ended early
      break;
    }
    if (plain.size() > bytes_max) {
      fault = InflateFault::TooLarge;
      break;
    }
  }
  if (fault == InflateFault::None && stream.avail_in != 0) fault = InflateFault::Corrupt;
  inflateEnd(&stream);
  if (fault != InflateFault::None) std::string{}.swap(plain);
  return fault;
}

}  // namespace pawl::http
