// http.request, http.get, http.post: from parameters to a request, from an answer to an outcome.
//
// HttpClient sends the request. Pure; any thread.
#pragma once

#include "actions/action.h"
#include "actions/http_client.h"

namespace pawl::actions {

// InvalidContent or InvalidRequest when the parameters give no valid request. `policy` must outlive
// it.
Result<HttpRequest> http_request_of(const ActionRequest& request, const ActionPolicy& policy);

// {status_code, status, headers, body, content_type, duration_ms}. A body that is not UTF-8 is
// given as base64, with body_encoding. A status of 400 or more is a failure only with
// fail_on_error_status.
ActionOutcome http_outcome(const ActionRequest& request, Result<HttpResponse> result,
                           int64_t duration_ms);

}  // namespace pawl::actions
