#include "kernel/scripts/json_fits.h"

#include "base/plain_text.h"

namespace pawl {
namespace {

// Counts down; false once it is below zero.
bool take_json(const Value& value, size_t& left) {
  auto take = [&](size_t bytes) {
    bool fits = bytes <= left;
    left -= fits ? bytes : left;
    return fits;
  };
  auto take_text = [&](const std::string& text) {
    size_t bytes = text.size() + 2;
    for (size_t i = json::plain_length<json::HighBytes::Plain>(text); i < text.size();
         i += 1 + json::plain_length<json::HighBytes::Plain>(std::string_view(text).substr(i + 1)))
      bytes += static_cast<uint8_t>(text[i]) < 0x20 ? 5 : 1;
    return take(bytes);
  };
  if (value.is_string()) return take_text(value.as_string());
  if (value.is_array()) {
    for (const Value& item : value.as_array())
      if (!take(1) || !take_json(item, left)) return false;
    return take(2);
  }
  if (value.is_object()) {
    for (const Value::Member& member : value.as_object())
      if (!take(2) || !take_text(member.key) || !take_json(member.value, left)) return false;
    return take(2);
  }
  return take(value.json().size());
}

}  // namespace

bool json_fits(const Value& value, size_t bytes) { return take_json(value, bytes); }

// Members and elements are counted by their separators.
size_t json_values(std::string_view json, size_t enough) {
  size_t values = json.empty() ? 0 : 1;
  for (size_t i = 0; i < json.size() && values <= enough; ++i) {
    switch (json[i]) {
      case ',':
      case '[':
      case '{':
        ++values;
        break;
      case '"':
        for (++i; i < json.size(); ++i) {
          i += json::plain_length<json::HighBytes::Plain>(json.substr(i));
          if (i >= json.size() || json[i] == '"') break;
          if (json[i] == '\\') ++i;
        }
        break;
      default:
        break;
    }
  }
  return values;
}

size_t json_bytes(const Value& value) {
  size_t left = SIZE_MAX;
  take_json(value, left);
  return SIZE_MAX - left;
}

}  // namespace pawl
