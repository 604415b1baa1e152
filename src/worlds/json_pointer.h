// JSON pointers (RFC 6901), as complaints about a manifest name places.
#pragma once

#include <string>
#include <string_view>

namespace pawl::worlds {

// The member `name` of the place.
inline std::string below(const std::string& path, std::string_view name) {
  std::string out = path + '/';
  for (const char c : name) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

inline std::string below(const std::string& path, size_t index) {
  return path + '/' + std::to_string(index);
}

}  // namespace pawl::worlds
