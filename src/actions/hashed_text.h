// HashedText: bytes that can be compared with others from any place on, in about as many steps as
// the logarithm of how far they agree.
//
// Prefixes are hashed as polynomials modulo 2^61 - 1 at a point that is drawn when the process
// starts, so that nobody can choose bytes whose hashes agree: that two different stretches are
// taken for equal has a chance of about their length in 2^61.
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

  // How many bytes agree, of at most `max` that both have. `steps` counts the comparisons.
  static size_t common_prefix(const HashedText& a, size_t at_a, const HashedText& b, size_t at_b,
                              size_t max, uint64_t& steps);

 private:
  static bool equal(const HashedText& a, size_t at_a, const HashedText& b, size_t at_b,
                    size_t size);
  uint64_t prefix_hash(size_t size) const;

  // Most are never compared any further than byte by byte.
  struct Sums {
    std::once_flag made;
    std::vector<uint64_t> of_prefixes;  // of every kStride-th
  };
  const std::vector<uint64_t>& sums() const;

  std::string bytes_;
  std::unique_ptr<Sums> sums_ = std::make_unique<Sums>();
};

}  // namespace pawl::actions
