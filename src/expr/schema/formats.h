// The formats of JSON Schema, each as a predicate on text. Strict, linear, no allocation worth
// naming; any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "expr/budget.h"

namespace pawl::expr::schema {

enum class Format : uint8_t {
  None,  // missing or unknown: asserts nothing
  DateTime,
  Date,
  Time,
  Duration,
  Email,
  Hostname,
  Ipv4,
  Ipv6,
  Uri,
  UriReference,
  Uuid,
  JsonPointer,
  Regex,
};

Format format_named(std::string_view name);
std::string_view format_name(Format format);
// A pattern is compiled, which the budget pays; the caller pays for reading.
bool matches_format(Format format, std::string_view text, Budget& budget);

}  // namespace pawl::expr::schema
