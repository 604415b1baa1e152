// ip() cidr() isIP() isCIDR() and what addresses and prefixes can be asked.

#include "base/read_number.h"
#include "expr/cel/functions.h"
#include "expr/cel/network.h"

namespace pawl::expr {
namespace {

struct Prefix {
  IpAddress address;
  uint8_t length = 0;
};

std::optional<Prefix> parse_cidr(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  // The length counts bits of the family as written, so a mapped address in hex is no prefix.
  const auto address = parse_ip(text.substr(0, slash));
  if (!address || (address->v4 && text.substr(0, slash).find(':') != std::string_view::npos))
    return std::nullopt;
  const std::string_view digits = text.substr(slash + 1);
  uint32_t length = 0;
  if (!read_number(digits, length) || length > (address->v4 ? 32u : 128u)) return std::nullopt;
  if (digits.size() > 1 && digits[0] == '0') return std::nullopt;
  return Prefix{*address, static_cast<uint8_t>(length)};
}

IpAddress masked(const IpAddress& address, uint8_t length) {
  IpAddress result = address;
  for (size_t i = 0; i < 16; ++i) {
    const int keep = static_cast<int>(length) - static_cast<int>(8 * i);
    if (keep >= 8) continue;
    const unsigned mask = keep <= 0 ? 0u : 0xFFu << (8 - keep);
    result.bytes[i] = static_cast<uint8_t>(result.bytes[i] & mask);
  }
  return result;
}

bool covers(const CidrNode& outer, const IpAddress& address) {
  return outer.address.v4 == address.v4 &&
         masked(outer.address, outer.prefix) == masked(address, outer.prefix);
}

bool covers(const CidrNode& outer, const Prefix& inner) {
  return outer.prefix <= inner.length && covers(outer, inner.address);
}

Val ip_error(std::string_view text) {
  if (text.find('%') != std::string_view::npos)
    return Val::error("IP Address with zone value is not allowed");
  return Val::error("IP Address '" + std::string(text.substr(0, 64)) +
                    "' parse error during conversion from string");
}

Val cidr_error(std::string_view text) {
  if (text.find('%') != std::string_view::npos)
    return Val::error("CIDR with zone value is not allowed");
  return Val::error("network address parse error during conversion from string: CIDR '" +
                    std::string(text.substr(0, 64)) + "'");
}

Val is_ip(CallContext&, Arguments args) {
  return args[0].is(Kind::String) ? Val::boolean(parse_ip(args[0].as_string()).has_value())
                                  : no_overload("isIP", args);
}

Val is_cidr(CallContext&, Arguments args) {
  return args[0].is(Kind::String) ? Val::boolean(parse_cidr(args[0].as_string()).has_value())
                                  : no_overload("isCIDR", args);
}

Val to_ip(CallContext&, Arguments args) {
  if (args[0].is(Kind::Ip)) return args[0];
  if (!args[0].is(Kind::String)) return no_overload("ip", args);
  const auto address = parse_ip(args[0].as_string());
  return address ? Val::ip(*address) : ip_error(args[0].as_string());
}

Val to_cidr(CallContext&, Arguments args) {
  if (args[0].is(Kind::Cidr)) return args[0];
  if (!args[0].is(Kind::String)) return no_overload("cidr", args);
  const auto prefix = parse_cidr(args[0].as_string());
  return prefix ? Val::cidr(prefix->address, prefix->length) : cidr_error(args[0].as_string());
}

Val is_canonical(CallContext&, Arguments args) {
  if (!args[0].is(Kind::String)) return no_overload("ip.isCanonical", args);
  const auto address = parse_ip(args[0].as_string());
  return address ? Val::boolean(format_ip(*address) == args[0].as_string())
                 : ip_error(args[0].as_string());
}

Val address_of(CallContext&, Arguments args) {
  return args[0].is(Kind::Cidr) ? Val::ip(args[0].as_cidr().address) : no_overload("ip", args);
}

Val family(CallContext&, Arguments args) {
  return args[0].is(Kind::Ip) ? Val::integer(args[0].as_ip().v4 ? 4 : 6)
                              : no_overload("family", args);
}

bool zero_after(const IpAddress& a, size_t from) {
  for (size_t i = from; i < 16; ++i) {
    if (a.bytes[i] != 0) return false;
  }
  return true;
}

bool unspecified(const IpAddress& a) { return zero_after(a, 0); }

bool loopback(const IpAddress& a) {
  if (a.v4) return a.bytes[0] == 127;
  IpAddress one;
  one.bytes[15] = 1;
  return a == one;
}

bool multicast(const IpAddress& a) {
  return a.v4 ? (a.bytes[0] & 0xF0) == 0xE0 : a.bytes[0] == 0xFF;
}

bool link_local_unicast(const IpAddress& a) {
  return a.v4 ? a.bytes[0] == 169 && a.bytes[1] == 254
              : a.bytes[0] == 0xFE && (a.bytes[1] & 0xC0) == 0x80;
}

bool link_local_multicast(const IpAddress& a) {
  return a.v4 ? a.bytes[0] == 224 && a.bytes[1] == 0 && a.bytes[2] == 0
              : a.bytes[0] == 0xFF && (a.bytes[1] & 0x0F) == 2;
}

bool global_unicast(const IpAddress& a) {
  const bool broadcast =
      a.v4 && a.bytes[0] == 255 && a.bytes[1] == 255 && a.bytes[2] == 255 && a.bytes[3] == 255;
  return !broadcast && !unspecified(a) && !loopback(a) && !multicast(a) && !link_local_unicast(a);
}

template <bool (*kTest)(const IpAddress&)>
Val ask(CallContext&, Arguments args) {
  return args[0].is(Kind::Ip) ? Val::boolean(kTest(args[0].as_ip()))
                              : no_overload("address test", args);
}

Val contains_ip(CallContext&, Arguments args) {
  if (!args[0].is(Kind::Cidr)) return no_overload("containsIP", args);
  if (args[1].is(Kind::Ip)) return Val::boolean(covers(args[0].as_cidr(), args[1].as_ip()));
  if (!args[1].is(Kind::String)) return no_overload("containsIP", args);
  const auto address = parse_ip(args[1].as_string());
  return address ? Val::boolean(covers(args[0].as_cidr(), *address))
                 : ip_error(args[1].as_string());
}

Val contains_cidr(CallContext&, Arguments args) {
  if (!args[0].is(Kind::Cidr)) return no_overload("containsCIDR", args);
  if (args[1].is(Kind::Cidr)) {
    return Val::boolean(
        covers(args[0].as_cidr(), Prefix{args[1].as_cidr().address, args[1].as_cidr().prefix}));
  }
  if (!args[1].is(Kind::String)) return no_overload("containsCIDR", args);
  const auto prefix = parse_cidr(args[1].as_string());
  return prefix ? Val::boolean(covers(args[0].as_cidr(), *prefix))
                : cidr_error(args[1].as_string());
}

Val mask(CallContext&, Arguments args) {
  if (!args[0].is(Kind::Cidr)) return no_overload("masked", args);
  const CidrNode& cidr = args[0].as_cidr();
  return Val::cidr(masked(cidr.address, cidr.prefix), cidr.prefix);
}

Val prefix_length(CallContext&, Arguments args) {
  return args[0].is(Kind::Cidr) ? Val::integer(args[0].as_cidr().prefix)
                                : no_overload("prefixLength", args);
}

constexpr Function kNetworkFunctions[] = {
    {"isIP", is_ip, 1, 1, false},
    {"isCIDR", is_cidr, 1, 1, false},
    {"ip", to_ip, 1, 1, false},
    {"cidr", to_cidr, 1, 1, false},
    {"ip.isCanonical", is_canonical, 1, 1, false},
    {"ip", address_of, 0, 0, true},
    {"family", family, 0, 0, true},
    {"isUnspecified", ask<unspecified>, 0, 0, true},
    {"isLoopback", ask<loopback>, 0, 0, true},
    {"isGlobalUnicast", ask<global_unicast>, 0, 0, true},
    {"isLinkLocalMulticast", ask<link_local_multicast>, 0, 0, true},
    {"isLinkLocalUnicast", ask<link_local_unicast>, 0, 0, true},
    {"containsIP", contains_ip, 1, 1, true},
    {"containsCIDR", contains_cidr, 1, 1, true},
    {"masked", mask, 0, 0, true},
    {"prefixLength", prefix_length, 0, 0, true},
};

}  // namespace

std::span<const Function> network_functions() { return kNetworkFunctions; }

}  // namespace pawl::expr
