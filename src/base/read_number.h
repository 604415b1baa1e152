// Text to number, as std::from_chars reads it: no blanks, no plus sign.
#pragma once

#include <charconv>
#include <string_view>
#include <system_error>

namespace pawl {

// False unless the whole text is a number that fits.
bool read_number(std::string_view text, auto& number, auto... base) {
  const char* end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, number, base...);
  return error == std::errc() && at == end;
}

}  // namespace pawl
