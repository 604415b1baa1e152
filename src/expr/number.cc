#include "expr/number.h"

#include <charconv>

namespace pawl::expr {

std::string branch_name(const Value& value) {
  if (value.is_string()) return value.as_string();
  if (!value.is_double()) return value.json();
  char text[32];
  auto end =
      std::to_chars(text, text + sizeof text, value.as_double(), std::chars_format::general, 6);
  return std::string(text, end.ptr);
}

Result<int64_t> ms_of_seconds(const Value& seconds, int64_t most_ms) {
  double ms = seconds.is_number() ? seconds.as_double() * 1000 : -1;
  if (!(ms >= 0 && ms <= static_cast<double>(most_ms)))
    return Error{ErrorCode::InvalidContent, seconds.json() + " is no duration in seconds"};
  return static_cast<int64_t>(ms);
}

}  // namespace pawl::expr
