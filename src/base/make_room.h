// Reserves room in a string for the given number of bytes and some more: one more character often
// follows a large text, and std::string would copy the whole text again to append it.
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
