// Which Host headers certainly name this machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pawl::api {

// localhost, *.localhost, an IPv4 or IPv6 address, or one of `own`; with or without a port.
//
// The owner of any other name can point it at this machine, so that their page in a browser has the
// same origin as this server (DNS rebinding). A name without a dot is no exception: search domains
// and the local name server can resolve it, too.
bool is_own_host(std::string_view host, const std::vector<std::string>& own);

}  // namespace pawl::api
