#include "api/body.h"

namespace pawl::api {
namespace {

// Two levels for each level of a nested workflow, and room for the data of its jobs.
constexpr uint32_t kBodyDepthMax = 128;

bool is_json_type(std::string_view type) {
  type = type.substr(0, type.find(';'));
  while (!type.empty() && type.back() == ' ') type.remove_suffix(1);
  return type.empty() || type == "application/json" || type == "application/openjobspec+json";
}

}  // namespace

Result<json::Doc> parse_body(const Call& call, bool allow_empty) {
  if (!is_json_type(call.request.header("content-type")))
    return Error{ErrorCode::InvalidRequest,
                 "the body must be application/openjobspec+json or application/json"};
  if (call.request.body.empty() && allow_empty) return json::parse("{}");
  if (call.request.body.empty())
    return Error{ErrorCode::Malformed, "the body is empty; a JSON object is expected"};
  PAWL_TRY(json::Doc doc, json::parse(call.request.body, {.depth_max = kBodyDepthMax}));
  if (!doc.root().is_object())
    return Error{ErrorCode::Malformed, "the body must be a JSON object, not " +
                                           std::string(json::kind_name(doc.root().kind()))};
  return doc;
}

std::optional<json::View> Fields::find(std::string_view name) const {
  auto value = object_.find(name);
  return value && !value->is_null() ? value : std::nullopt;
}

std::string Fields::text(std::string_view name, std::string_view fallback) {
  auto value = find(name);
  if (!value) return std::string(fallback);
  if (value->is_string()) return value->string();
  complain(name, "must be a string", "type");
  return std::string(fallback);
}

std::string Fields::required_text(std::string_view name) {
  std::string value = text(name);
  if (value.empty() && ok())
    complain(name, "is required and must be a non-empty string", "required");
  return value;
}

int64_t Fields::integer(std::string_view name, int64_t fallback, int64_t least, int64_t most) {
  auto value = find(name);
  if (!value) return fallback;
  auto number = value->as_int();
  if (number && *number >= least && *number <= most) return *number;
  complain(name,
           "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most),
           number ? "value" : "type");
  return fallback;
}

bool Fields::boolean(std::string_view name, bool fallback) {
  auto value = find(name);
  if (!value) return fallback;
  if (value->is_bool()) return value->is_true();
  complain(name, "must be true or false", "type");
  return fallback;
}

std::vector<std::string> Fields::texts(std::string_view name) {
  std::vector<std::string> list;
  auto value = find(name);
  if (!value) return list;
  bool good = value->is_array();
  value->each_element([&](json::View element) {
    good &= element.is_string();
    if (element.is_string()) list.push_back(element.string());
  });
  if (!good) complain(name, "must be an array of strings", "type");
  return list;
}

std::string Fields::raw(std::string_view name, std::string_view fallback) const {
  auto value = find(name);
  return std::string(value ? value->raw() : fallback);
}

void Fields::complain(std::string_view name, std::string message, std::string_view code) {
  complaints_.push_back({path_of(name), std::move(message), std::string(code)});
}

Error Fields::error(ErrorCode code) const {
  const Complaint& first = complaints_.front();
  std::string_view where = first.path;
  if (where.substr(0, 2) == "$.") where.remove_prefix(2);
  return Error{code, std::string(where) + " " + first.message, complaints_};
}

}  // namespace pawl::api
