#include "api/response.h"

namespace pawl::api {
namespace {

std::string ojs_type = "application/openjobspec+json";

// /v1 uses paths as in definitions, `steps[2].retry`; "" is the whole body. OJS uses `$.steps`.
std::string_view path_on(Surface surface, std::string_view path) {
  if (surface == Surface::Ojs || !path.starts_with("$")) return path;
  return path.substr(path.starts_with("$.") ? 2 : 1);
}

void write_complaint(json::Writer& w, std::string_view path, const Complaint& complaint) {
  w.begin_object().field("path", path);
  w.field("code", complaint.code.empty() ? std::string_view("value") : complaint.code);
  w.field("message", complaint.message).end_object();
}

// Every InvalidContent error has complaints with places.
void write_complaints(json::Writer& w, Surface surface, const Error& error) {
  bool whole = error.complaints.empty();
  if (whole && (surface != Surface::V1 || error.code != ErrorCode::InvalidContent)) return;
  w.key("validation_errors").begin_array();
  if (whole) write_complaint(w, "", {"", error.message, ""});
  for (const Complaint& complaint : error.complaints)
    write_complaint(w, path_on(surface, complaint.path), complaint);
  w.end_array();
}

}  // namespace

void write_error_details(json::Writer& w, Surface surface, const Error& error) {
  std::string& body = w.out();
  size_t before = body.size();
  w.key("details").begin_object();
  size_t empty = body.size();
  for (const auto& [name, value] : error.details) w.field(name, value);
  for (const auto& [name, json] : error.json_details) w.field_raw(name, json);
  write_complaints(w, surface, error);
  if (body.size() == empty) return body.resize(before);
  w.end_object();
}

namespace {

std::string_view hint(ErrorCode code) {
  switch (code) {
    case ErrorCode::NotFound:
      return "Check the id; finished jobs are kept for a limited time.";
    case ErrorCode::Conflict:
      return "The current state does not allow this; read it and decide again.";
    case ErrorCode::Duplicate:
      return "Use another id, or change the unique policy.";
    case ErrorCode::Unauthenticated:
      return "Send Authorization: Bearer <key>.";
    case ErrorCode::Forbidden:
      return "The key lacks the scope for this call.";
    case ErrorCode::TooLarge:
      return "Send less, or pass a reference instead of the data.";
    case ErrorCode::QueueFull:
    case ErrorCode::RateLimited:
    case ErrorCode::Overloaded:
    case ErrorCode::Fenced:
    case ErrorCode::Unavailable:
    case ErrorCode::NoOwner:
    case ErrorCode::StoreFailed:
      return "Try again after the time in Retry-After.";
    case ErrorCode::OutcomeUnknown:
      return "Read whether it happened; with an Idempotency-Key it may simply be sent again.";
    case ErrorCode::Internal:
    case ErrorCode::Corrupt:
      return "See the server's log.";
    case ErrorCode::Malformed:
    case ErrorCode::InvalidRequest:
    case ErrorCode::InvalidContent:
    case ErrorCode::InvalidWorkflow:
    case ErrorCode::MethodNotAllowed:
    case ErrorCode::Unsupported:
      return "See the API reference for what this call takes.";
  }
  return "";
}

}  // namespace

void use_ojs_content_type(const std::string& type) { ojs_type = type; }

http::Response json_response(Surface surface, int status, std::string body) {
  http::Response response;
  response.status = status;
  response.body = std::move(body);
  if (surface == Surface::Ojs) {
    response.content_type = ojs_type;
    response.headers.emplace_back("OJS-Version", "1.0");
  } else {
    response.content_type = "application/json";
  }
  return response;
}

http::Response error_response(Surface surface, const Error& error, std::string_view request_id) {
  json::ObjectWriter w;
  bool later = worth_retrying(error.code);
  w.key("error").begin_object();
  w.field("code", wire_code(error)).field("message", error.message);
  if (surface == Surface::Ojs) {
    w.field("type", wire_code(error.code))
        .field_bool("retryable", later)
        .field("hint", hint(error.code));
    w.field("docs_url", "/docs/errors#" + std::string(wire_code(error.code)));
  }
  write_error_details(w, surface, error);
  w.field("request_id", request_id).end_object();
  http::Response response = json_response(surface, http_status(error.code), w.close());
  if (later) response.headers.emplace_back("Retry-After", "1");
  if (error.code == ErrorCode::Unauthenticated)
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

}  // namespace pawl::api
