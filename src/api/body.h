// Reading request bodies: the JSON document and its members, with uniform complaints.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/router.h"
#include "base/json.h"

namespace pawl::api {

// The body as JSON; Malformed if it is empty, not JSON or not declared as such. allow_empty: then
// it reads as {}.
Result<json::Doc> parse_body(const Call& call, bool allow_empty = false);

// Reads the members of one object and collects complaints. The first one gives the error's message.
class Fields {
 public:
  explicit Fields(json::View object, std::string path = "$")
      : object_(object), path_(std::move(path)) {
    if (!object.is_object()) complain("", "must be an object", "type");
  }

  std::optional<json::View> find(std::string_view name) const;  // null counts as absent
  bool has(std::string_view name) const { return find(name).has_value(); }
  std::string text(std::string_view name, std::string_view fallback = "");
  std::string required_text(std::string_view name);
  int64_t integer(std::string_view name, int64_t fallback, int64_t least, int64_t most);
  bool boolean(std::string_view name, bool fallback);
  std::vector<std::string> texts(std::string_view name);
  std::string raw(std::string_view name, std::string_view fallback = "") const;  // JSON text

  // Codes: required, type, value, unknown_field, …; those that definitions use.
  void complain(std::string_view name, std::string message, std::string_view code = "value");
  bool ok() const { return complaints_.empty(); }
  Error error(ErrorCode code) const;
  const std::string& path() const { return path_; }
  json::View object() const { return object_; }

 private:
  std::string path_of(std::string_view name) const {
    return name.empty() ? path_ : path_ + "." + std::string(name);
  }

  json::View object_;
  std::string path_;
  std::vector<Complaint> complaints_;
};

}  // namespace pawl::api
