// Which Host headers name this machine and nothing a stranger could own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pawl::api {

// localhost, *.localhost, an IPv4 or IPv6 address, or one of `own`; with or without a port.
//
// Any other name can be pointed at this machine by who owns it, so that his page in a browser has
// the same origin as this server (DNS rebinding). A name without a dot is no exception: search
// domains and the local network's name server give it away as well.
bool is_own_host(std::string_view host, const std::vector<std::string>& own);

}  // namespace pawl::api
