// Which addresses an outgoing request may reach when private ones are not allowed: only those that
// are routed on the public Internet. Checked on the address that is about to be connected to, after
// the name was resolved, so that a name cannot point somewhere else between check and use.
//
// Pure; any thread.
#pragma once

#include <sys/socket.h>

namespace pawl::actions {

// False for loopback, private, link-local (cloud metadata lives there), shared, multicast, reserved
// and documentation ranges, for IPv6 forms that carry such an IPv4 address, and for every family
// but IPv4 and IPv6.
bool is_public_address(const sockaddr* address, socklen_t size);

}  // namespace pawl::actions
