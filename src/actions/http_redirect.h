// Turns a request and a redirect into the next request.
//
// 301, 302 and 303 turn anything but GET and HEAD into a GET without a body, as browsers and other
// clients do; 307 and 308 repeat the request. After a redirect to another origin, headers that may
// hold credentials are dropped for all later hops, and a body with a secret is not sent again.
// Pure; any thread.
#pragma once

#include "actions/http_client.h"
#include "actions/http_url.h"

namespace pawl::actions {

bool is_redirect(const HttpResponse& response);

// Changes `request` into the next one. The client checks the new address like any other.
// InvalidRequest if the Location is invalid.
Status follow_redirect(HttpRequest& request, const HttpResponse& response);

// Whether the request authenticates its connection (NTLM, Negotiate), not only itself.
bool logs_the_connection_in(const HttpRequest& request);

// A header that is likely to carry a secret, by its name.
bool may_hold_credentials(const std::string& header_name);

}  // namespace pawl::actions
