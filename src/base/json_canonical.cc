#include "base/json_canonical.h"

#include <algorithm>
#include <cmath>

#include "base/json_writer.h"
#include "base/utf8.h"

namespace pawl::json {
namespace {

// The standard orders names by UTF-16 code units. That differs from byte order only above U+FFFF:
// such characters begin with a surrogate (0xD800…), which sorts before U+E000…U+FFFF.
std::u16string utf16(std::string_view text) {
  std::u16string units;
  for (size_t at = 0; at < text.size();) {
    size_t length = utf8::sequence_length(text.substr(at));
    uint32_t point = static_cast<uint8_t>(text[at]);
    if (length > 1) point &= (0x7fu >> length);
    for (size_t i = 1; i < length; ++i)
      point = point << 6 | (static_cast<uint8_t>(text[at + i]) & 0x3fu);
    if (point >= 0x10000) {
      units.push_back(static_cast<char16_t>(0xd7c0 + (point >> 10)));
      units.push_back(static_cast<char16_t>(0xdc00 + (point & 0x3ff)));
    } else {
      units.push_back(static_cast<char16_t>(point));
    }
    at += std::max<size_t>(length, 1);
  }
  return units;
}

// As ECMAScript prints numbers: the shortest digits that read back as the same double.
void append_number(std::string& out, View value) {
  double number = value.as_double().value_or(0);
  if (number == 0) {
    out.push_back('0');
    return;
  }
  char buffer[40];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, std::fabs(number),
                           std::chars_format::scientific)
                 .ptr;
  std::string_view text(buffer, static_cast<size_t>(end - buffer));
  size_t e = text.find('e');
  std::string digits(1, text[0]);
  if (e > 2) digits.append(text.substr(2, e - 2));
  int exponent = 0;
  std::string_view power = text.substr(e + 1);
  if (power[0] == '+') power.remove_prefix(1);
  std::from_chars(power.data(), power.data() + power.size(), exponent);
  int count = static_cast<int>(digits.size());
  int point = exponent + 1;  // digits before the decimal point
  if (number < 0) out.push_back('-');
  if (count <= point && point <= 21) {
    out.append(digits).append(static_cast<size_t>(point - count), '0');
  } else if (0 < point && point <= 21) {
    out.append(digits, 0, static_cast<size_t>(point))
        .append(".")
        .append(digits, static_cast<size_t>(point));
  } else if (-6 < point && point <= 0) {
    out.append("0.").append(static_cast<size_t>(-point), '0').append(digits);
  } else {
    out.push_back(digits[0]);
    if (count > 1) out.append(".").append(digits, 1);
    out.append(point - 1 < 0 ? "e-" : "e+").append(std::to_string(std::abs(point - 1)));
  }
}

void append_object(std::string& out, View value) {
  std::vector<std::pair<std::u16string, std::pair<std::string, View>>> members;
  value.each_member([&](View key, View member) {
    std::string name = key.string();
    members.push_back({utf16(name), {name, member}});
  });
  std::stable_sort(members.begin(), members.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  out.push_back('{');
  for (size_t i = 0; i < members.size(); ++i) {
    bool repeated = i + 1 < members.size() && members[i].first == members[i + 1].first;
    if (repeated) continue;  // the last of equal names counts
    if (out.back() != '{') out.push_back(',');
    append_quoted(out, members[i].second.first);
    out.push_back(':');
    append_canonical(out, members[i].second.second);
  }
  out.push_back('}');
}

}  // namespace

void append_canonical(std::string& out, View value) {
  switch (value.kind()) {
    case Kind::Null:
    case Kind::True:
    case Kind::False:
      out.append(value.raw());
      return;
    case Kind::Number:
      append_number(out, value);
      return;
    case Kind::String:
      append_quoted(out, value.string());
      return;
    case Kind::Object:
      append_object(out, value);
      return;
    case Kind::Array: {
      out.push_back('[');
      bool first = true;
      value.each_element([&](View element) {
        if (!std::exchange(first, false)) out.push_back(',');
        append_canonical(out, element);
      });
      out.push_back(']');
      return;
    }
  }
}

std::string canonical(View value) {
  std::string out;
  append_canonical(out, value);
  return out;
}

}  // namespace pawl::json
