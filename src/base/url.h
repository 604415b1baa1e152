// Percent-decoding and query strings.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl {

// Nothing if a '%' is not followed by two hex digits, or if the result would hold a NUL.
std::optional<std::string> percent_decode(std::string_view text);

// Encodes everything but letters, digits and "-._~": fit for a path segment and for a query value.
std::string percent_encode(std::string_view text);

// The first value of `name`, '+' and %XX decoded; empty for "name" and "name=". Nothing if it was
// not sent or can not be decoded.
std::optional<std::string> query_param(std::string_view query, std::string_view name);

// All pairs in order, decoded; nothing if one of them can not be decoded.
std::optional<std::vector<std::pair<std::string, std::string>>> query_params(
    std::string_view query);

}  // namespace pawl
