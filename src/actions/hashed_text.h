// HashedText: bytes that can be compared with others from any position, in a number of steps
// logarithmic in the length of the match.
//
// Prefixes are hashed as polynomials modulo 2^61 - 1 at a point that is drawn when the process
// starts, so that an attacker cannot choose colliding bytes: the probability that two different
// stretches are taken for equal is about their length divided by 2^61.
//
// Immutable; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::actions {

class HashedText {
 public:
  HashedText() = default;
  explicit HashedText(std::string bytes);

  std::string_view bytes() const { return bytes_; }

  // The length of the common prefix, at most `max`. `steps` counts the comparisons.
  static size_t common_prefix(const HashedText& a, size_t at_a, const HashedText& b, size_t at_b,
                              size_t max, uint64_t& steps);

 private:
  static bool equal(const HashedText& a, size_t at_a, const HashedText& b, size_t at_b,
                    size_t size);
  uint64_t prefix_hash(size_t size) const;

  // Created on demand: most texts are only compared byte by byte.
  struct Sums {
    std::once_flag made;
    std::vector<uint64_t> of_prefixes;  // of every kStride-th
  };
  const std::vector<uint64_t>& sums() const;

  std::string bytes_;
  std::unique_ptr<Sums> sums_ = std::make_unique<Sums>();
};

}  // namespace pawl::actions
