#include "actions/hashed_text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <random>

namespace pawl::actions {
namespace {

using Wide = unsigned __int128;

constexpr uint64_t kModulus = (uint64_t{1} << 61) - 1;
constexpr size_t kStride = 4;
constexpr size_t kCheapBytes = 32;  // up to here comparing bytes is faster than hashing

uint64_t reduced(uint64_t number) { return number >= kModulus ? number - kModulus : number; }

uint64_t product(uint64_t a, uint64_t b) {
  const Wide wide = static_cast<Wide>(a) * b;
  return reduced(static_cast<uint64_t>(wide & kModulus) + static_cast<uint64_t>(wide >> 61));
}

uint64_t point() {
  static const uint64_t drawn = [] {
    std::random_device device;
    return ((uint64_t{device()} << 32 | device()) % (kModulus - 1024)) + 512;
  }();
  return drawn;
}

uint64_t power(size_t exponent) {
  static const std::array<uint64_t, 64> squares = [] {
    std::array<uint64_t, 64> made{point()};
    for (size_t i = 1; i < made.size(); ++i) made[i] = product(made[i - 1], made[i - 1]);
    return made;
  }();
  uint64_t out = 1;
  for (; exponent != 0; exponent &= exponent - 1)
    out = product(out, squares[static_cast<size_t>(std::countr_zero(exponent))]);
  return out;
}

uint64_t with_byte(uint64_t hash, char c) {
  return reduced(product(hash, point()) + static_cast<unsigned char>(c) + 1);
}

}  // namespace

HashedText::HashedText(std::string bytes) : bytes_(std::move(bytes)) {}

const std::vector<uint64_t>& HashedText::sums() const {
  std::call_once(sums_->made, [this] {
    std::vector<uint64_t>& sums = sums_->of_prefixes;
    sums.reserve(bytes_.size() / kStride + 1);
    uint64_t hash = 0;
    for (size_t i = 0; i < bytes_.size(); ++i) {
      if (i % kStride == 0) sums.push_back(hash);
      hash = with_byte(hash, bytes_[i]);
    }
    if (bytes_.size() % kStride == 0) sums.push_back(hash);
  });
  return sums_->of_prefixes;
}

uint64_t HashedText::prefix_hash(size_t size) const {
  uint64_t hash = sums()[size / kStride];
  for (size_t i = size / kStride * kStride; i < size; ++i) hash = with_byte(hash, bytes_[i]);
  return hash;
}

bool HashedText::equal(const HashedText& a, size_t at_a, const HashedText& b, size_t at_b,
                       size_t size) {
  const uint64_t shift = power(size);
  auto hash = [&](const HashedText& text, size_t at) {
    return reduced(text.prefix_hash(at + size) + kModulus - product(text.prefix_hash(at), shift));
  };
  return hash(a, at_a) == hash(b, at_b);
}

size_t HashedText::common_prefix(const HashedText& a, size_t at_a, const HashedText& b, size_t at_b,
                                 size_t max, uint64_t& steps) {
  size_t same = 0;
  auto compare_bytes = [&](size_t until) {
    while (same < until && a.bytes_[at_a + same] == b.bytes_[at_b + same]) ++same, ++steps;
    ++steps;
    return same == until;
  };
  if (!compare_bytes(std::min(max, kCheapBytes)) || same == max) return same;
  auto take_if_equal = [&](size_t size) {
    ++steps;
    const bool is = equal(a, at_a + same, b, at_b + same, size);
    if (is) same += size;
    return is;
  };
  // In growing strides until one contains the difference, then by halving that stride.
  size_t size = kCheapBytes;
  while (size <= max - same && take_if_equal(size)) size *= 2;
  for (size /= 2; size >= kCheapBytes; size /= 2)
    if (size <= max - same) take_if_equal(size);
  compare_bytes(std::min(max, same + kCheapBytes));
  return same;
}

}  // namespace pawl::actions
