// Answers in the format of each API: Open Job Spec's error format and media type, or the plain one
// of /v1.
#pragma once

#include <string>
#include <string_view>

#include "base/json_writer.h"
#include "base/result.h"
#include "http/responder.h"

namespace pawl::api {

enum class Surface { Ojs, V1, Plain };

// What a decision of a call comes to.
using Reply = Result<http::Response>;

// Sets the content type of Open Job Spec replies, for clients that require application/json. Call
// before the first reply.
void use_ojs_content_type(const std::string& type);

http::Response json_response(Surface surface, int status, std::string body);
http::Response error_response(Surface surface, const Error& error, std::string_view request_id);
// "details": {…} of an open error object, if there are any.
void write_error_details(json::Writer& w, Surface surface, const Error& error);

}  // namespace pawl::api
