// Room in a string for so many more bytes and for some after them: behind a large text often stands
// one more character, and std::string would copy the whole text again to make room for it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

namespace pawl {

inline void make_room(std::string& out, size_t bytes) {
  size_t needed = out.size() + bytes;
  if (needed > out.capacity()) out.reserve(std::max(needed + needed / 8, 2 * out.capacity()));
}

}  // namespace pawl
