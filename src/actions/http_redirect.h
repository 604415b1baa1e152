// What a redirect makes of a request: the next one, or the end of the way.
//
// 301, 302 and 303 turn anything but GET and HEAD into a GET without a body, as browsers and other
// clients do; 307 and 308 repeat the request. Once the way has left the origin it was meant for,
// what could be a credential is dropped for good, and a body that holds a secret is not sent again.
// Pure; any thread.
#pragma once

#include "actions/http_client.h"
#include "actions/http_url.h"

namespace pawl::actions {

bool is_redirect(const HttpResponse& response);

// Changes `request` into the next one. Where the Location leads is judged by the client as every
// address is. InvalidRequest if it leads nowhere we may follow.
Status follow_redirect(HttpRequest& request, const HttpResponse& response);

// Whether the request logs its connection in (NTLM, Negotiate), and not itself alone.
bool logs_the_connection_in(const HttpRequest& request);

// A header that is likely to carry a secret, by its name.
bool may_hold_credentials(const std::string& header_name);

}  // namespace pawl::actions
