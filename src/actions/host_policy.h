// Which hosts an HTTP action may reach: the operator's lists, then the kind of address.
//
// A rule is "host", "host:port" or "*.example.com" (any depth below, not example.com itself); an
// IPv6 address stands in brackets when a port follows. Names are compared as DNS does, without case
// and without a trailing dot. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "actions/action.h"
#include "actions/http_client.h"

namespace pawl::actions {

bool host_matches(std::string_view rule, std::string_view host, int port);

// A host on deny_hosts is always denied; a host on allow_hosts may be private. A rule that denies
// 127.0.0.1 or ::1 denies 0.0.0.0 and :: too, since they connect to loopback as well.
HostVerdict judge_host(const HttpPolicy& policy, std::string_view host, int port);

}  // namespace pawl::actions
