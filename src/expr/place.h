// A position in a source for people: lines and columns from 1, where a column is a code point.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pawl::expr {

struct Place {
  size_t line = 1;
  size_t column = 1;
};

// The position of the byte at this offset, or of the end.
Place place_of(std::string_view source, size_t offset);
// "line 1, column 7: message".
std::string at_place(const Place& place, std::string_view message);

}  // namespace pawl::expr
