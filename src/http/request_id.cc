#include "http/request_id.h"

#include <sys/random.h>
#include <time.h>

#include <cstdint>

#include "base/check.h"

namespace pawl::http {
namespace {

// splitmix64: one addition and two multiplications per id half.
struct Generator {
  uint64_t state = 0;

  Generator() { PAWL_CHECK(getrandom(&state, sizeof state, 0) == sizeof state); }

  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
};

}  // namespace

std::array<char, kRequestIdBytes> make_request_id() {
  thread_local Generator generator;
  timespec now{};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  const uint64_t ms =
      static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1'000'000;
  const uint64_t high = (ms << 16) | 0x7000 | (generator.next() & 0x0fff);
  const uint64_t low = (generator.next() >> 2) | 0x8000000000000000U;

  static constexpr char kHex[] = "0123456789abcdef";
  std::array<char, kRequestIdBytes> id{'r', 'e', 'q', '_'};
  size_t at = 4;
  for (int nibble = 0; nibble < 32; ++nibble) {
    if (nibble == 8 || nibble == 12 || nibble == 16 || nibble == 20) id[at++] = '-';
    const uint64_t half = nibble < 16 ? high : low;
    id[at++] = kHex[(half >> (60 - 4 * (nibble % 16))) & 15];
  }
  return id;
}

}  // namespace pawl::http
