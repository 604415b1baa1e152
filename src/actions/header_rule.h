// Which headers of a request others may set: one rule for HTTP steps and webhooks.
//
// What says where a message ends, where it goes, or what the connection is (RFC 9110 7.6.1, 9112)
// is the client's alone: a wrong length would leave bytes behind that the next request on a kept
// connection takes for its answer, and a Host of one's own reaches a virtual host that deny_hosts
// names. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace pawl::actions {

// In lower case, and with '_' as '-', as some servers read it: who compares names must do as they.
std::string plain_header_name(std::string_view name);

bool is_reserved_header(std::string_view name);

// "" or why this header cannot be sent: the name is no token, the value holds control characters,
// it is too long, or it is reserved. Never quotes the value.
std::string header_problem(std::string_view name, std::string_view value);

// A name of the grammar of RFC 9110: also what a method is.
bool is_token(std::string_view text);

}  // namespace pawl::actions
