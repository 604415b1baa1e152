// Which headers of a request a step or a webhook may set.
//
// Headers that frame or route a message or control the connection (RFC 9110 7.6.1, 9112) are set by
// the HTTP client only: a wrong length would leave bytes that the next request on a kept connection
// takes for its answer, and a custom Host could reach a virtual host that deny_hosts names. Pure;
// any thread.
#pragma once

#include <string>
#include <string_view>

namespace pawl::actions {

// In lower case, with '_' as '-': some servers treat both alike, so comparisons must too.
std::string plain_header_name(std::string_view name);

bool is_reserved_header(std::string_view name);

// "" or why this header cannot be sent: the name is no token, the value holds control characters,
// it is too long, or it is reserved. Never quotes the value.
std::string header_problem(std::string_view name, std::string_view value);

// A token in the grammar of RFC 9110: a header name or a method.
bool is_token(std::string_view text);

}  // namespace pawl::actions
