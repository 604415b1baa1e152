// IP addresses and prefixes as text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "expr/cel/val.h"

namespace pawl::expr {

// Strict: four decimal parts without leading zeros, or IPv6 without a zone. An IPv4-mapped IPv6
// address written in hex is the IPv4 address; written with dots (::ffff:1.2.3.4) it is refused, as
// it reads as both.
std::optional<IpAddress> parse_ip(std::string_view text);
// RFC 5952.
std::string format_ip(const IpAddress& address);

}  // namespace pawl::expr
