#include "expr/place.h"

namespace pawl::expr {

Place place_of(std::string_view source, size_t offset) {
  Place place;
  for (const char c : source.substr(0, offset)) {
    if (c == '\n') {
      ++place.line;
      place.column = 1;
    } else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) {
      ++place.column;
    }
  }
  return place;
}

std::string at_place(const Place& place, std::string_view message) {
  return "line " + std::to_string(place.line) + ", column " + std::to_string(place.column) + ": " +
         std::string(message);
}

}  // namespace pawl::expr
