#include "actions/address_policy.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstdint>
#include <cstring>

namespace pawl::actions {
namespace {

struct Range {
  uint32_t network;
  int bits;
};

// Ranges of IANA's special-purpose registry that are not globally reachable.
constexpr Range kNotPublic[] = {
    {0x00000000, 8},   // 0.0.0.0/8, this network
    {0x0a000000, 8},   // 10.0.0.0/8
    {0x64400000, 10},  // 100.64.0.0/10, carrier-grade NAT
    {0x7f000000, 8},   // 127.0.0.0/8
    {0xa9fe0000, 16},  // 169.254.0.0/16, link-local and metadata
    {0xac100000, 12},  // 172.16.0.0/12
    {0xc0000000, 24},  // 192.0.0.0/24
    {0xc0000200, 24},  // 192.0.2.0/24, documentation
    {0xc0586300, 24},  // 192.88.99.0/24, 6to4 relays
    {0xc0a80000, 16},  // 192.168.0.0/16
    {0xc6120000, 15},  // 198.18.0.0/15, benchmarks
    {0xc6336400, 24},  // 198.51.100.0/24, documentation
    {0xcb007100, 24},  // 203.0.113.0/24, documentation
    {0xe0000000, 3},   // multicast, reserved, broadcast
};

bool is_public_v4(uint32_t address) {
  for (const Range& range : kNotPublic)
    if ((address ^ range.network) >> (32 - range.bits) == 0) return false;
  return true;
}

uint32_t v4_at(const uint8_t* bytes) {
  return static_cast<uint32_t>(bytes[0]) << 24 | static_cast<uint32_t>(bytes[1]) << 16 |
         static_cast<uint32_t>(bytes[2]) << 8 | bytes[3];
}

bool starts_with(const uint8_t* address, const char* prefix, size_t bytes) {
  return std::memcmp(address, prefix, bytes) == 0;
}

bool is_public_v6(const uint8_t* a) {
  if (starts_with(a, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12)) return is_public_v4(v4_at(a + 12));
  if (starts_with(a, "\x00\x64\xff\x9b\0\0\0\0\0\0\0\0", 12)) return is_public_v4(v4_at(a + 12));
  if ((a[0] & 0xe0) != 0x20) return false;  // only 2000::/3 is global unicast
  if (a[0] == 0x20 && a[1] == 0x02) return is_public_v4(v4_at(a + 2));  // 6to4
  if (starts_with(a, "\x20\x01\x0d\xb8", 4)) return false;              // documentation
  if (a[0] == 0x20 && a[1] == 0x01 && a[2] < 2) return false;  // 2001::/23: Teredo, ORCHID, …
  return true;
}

}  // namespace

bool is_public_address(const sockaddr* address, socklen_t size) {
  if (address->sa_family == AF_INET && size >= sizeof(sockaddr_in)) {
    sockaddr_in v4;
    std::memcpy(&v4, address, sizeof v4);
    return is_public_v4(ntohl(v4.sin_addr.s_addr));
  }
  if (address->sa_family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
    sockaddr_in6 v6;
    std::memcpy(&v6, address, sizeof v6);
    return is_public_v6(v6.sin6_addr.s6_addr);
  }
  return false;
}

}  // namespace pawl::actions
