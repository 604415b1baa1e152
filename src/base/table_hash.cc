#include "base/table_hash.h"

#include <random>

#include "base/hash.h"

namespace pawl {

namespace {

uint64_t secret() {
  static const uint64_t kSecret = [] {
    std::random_device source;
    return static_cast<uint64_t>(source()) << 32 | source();
  }();
  return kSecret;
}

}  // namespace

size_t table_hash(std::string_view key) { return hash64(key, secret()); }

size_t table_hash(double key) {
  if (key == 0) key = 0;
  return hash64({reinterpret_cast<const char*>(&key), sizeof key}, secret());
}

}  // namespace pawl
