// http.request, http.get, http.post: from parameters to a request, from an answer to an outcome.
//
// The request itself is HttpClient's. Pure; any thread.
#pragma once

#include "actions/action.h"
#include "actions/http_client.h"

namespace pawl::actions {

// InvalidContent or InvalidRequest when the parameters make no request. `policy` must outlive it.
Result<HttpRequest> http_request_of(const ActionRequest& request, const ActionPolicy& policy);

// {status_code, status, headers, body, content_type, duration_ms}. A body that is no UTF-8 comes as
// base64, and then body_encoding says so. An answer of 400 or more is a failure only if the
// parameter fail_on_error_status asks for it.
ActionOutcome http_outcome(const ActionRequest& request, Result<HttpResponse> result,
                           int64_t duration_ms);

}  // namespace pawl::actions
