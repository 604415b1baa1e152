#include "actions/unescape.h"

#include <cstdint>

#include "base/ascii.h"

namespace pawl::actions {
namespace {

// The number that `count` hex digits spell; -1 if they are none.
int64_t hex_number(std::string_view digits, size_t count) {
  if (digits.size() < count) return -1;
  int64_t number = 0;
  for (char c : digits.substr(0, count)) {
    if (hex_digit(c) < 0) return -1;
    number = number * 16 + hex_digit(c);
  }
  return number;
}

Unit one(char c, size_t taken) {
  Unit unit;
  unit.add(c);
  unit.taken = taken;
  return unit;
}

Unit code_point(int64_t code, size_t taken) {
  Unit unit;
  unit.taken = taken;
  auto add = [&](int64_t c) { unit.add(static_cast<char>(c)); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xc0 | code >> 6), add(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    add(0xe0 | code >> 12), add(0x80 | (code >> 6 & 0x3f)), add(0x80 | (code & 0x3f));
  } else {
    add(0xf0 | code >> 18), add(0x80 | (code >> 12 & 0x3f));
    add(0x80 | (code >> 6 & 0x3f)), add(0x80 | (code & 0x3f));
  }
  return unit;
}

// After a backslash: JSON's escapes, and those that other languages share with it.
Unit backslashed(std::string_view text) {
  if (text.size() < 2) return {};
  char c = text[1];
  if (c == 'u') {
    int64_t code = hex_number(text.substr(2), 4);
    if (code < 0) return {};
    if (code >= 0xd800 && code < 0xdc00 && text.substr(6, 2) == "\\u")
      if (int64_t low = hex_number(text.substr(8), 4); low >= 0xdc00 && low < 0xe000)
        return code_point(0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00), 12);
    return code_point(code, 6);
  }
  if (c == 'x') {
    int64_t code = hex_number(text.substr(2), 2);
    return code < 0 ? Unit{} : one(static_cast<char>(code), 4);
  }
  if (c >= '0' && c <= '3' && text.size() >= 4) {
    int64_t code = 0;
    for (char digit : text.substr(1, 3))
      code = digit >= '0' && digit <= '7' && code >= 0 ? code * 8 + (digit - '0') : -1;
    return code < 0 ? Unit{} : one(static_cast<char>(code), 4);
  }
  constexpr std::string_view kLetters = "bfnrtv";
  constexpr std::string_view kMeant = "\b\f\n\r\t\v";
  if (size_t at = kLetters.find(c); at != std::string_view::npos) return one(kMeant[at], 2);
  return is_alphanumeric(c) ? Unit{} : one(c, 2);
}

Unit entity(std::string_view text) {
  struct Known {
    std::string_view name;
    char meant;
  };
  constexpr Known kKnown[] = {
      {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
  for (const Known& known : kKnown)
    if (text.starts_with(known.name)) return one(known.meant, known.name.size());
  if (!text.starts_with("&#")) return {};
  bool hex = text.size() > 2 && (text[2] == 'x' || text[2] == 'X');
  size_t at = hex ? 3 : 2;
  int64_t code = 0;
  for (; at < text.size() && at < 12 && text[at] != ';'; ++at) {
    int digit = hex_digit(text[at]);
    if (digit < 0 || (!hex && digit > 9)) return {};
    code = code * (hex ? 16 : 10) + digit;
  }
  if (at >= text.size() || text[at] != ';' || code > 0x10ffff) return {};
  return code_point(code, at + 1);
}

}  // namespace

Unit escaped(std::string_view text) {
  if (text.empty()) return {};
  switch (text[0]) {
    case '\\':
      return backslashed(text);
    case '%': {
      int64_t code = hex_number(text.substr(1), 2);
      return code < 0 ? Unit{} : one(static_cast<char>(code), 3);
    }
    case '&':
      return entity(text);
    case '\'':  // in a shell's quotes, and doubled as in SQL and YAML
      if (text.starts_with("'\\''")) return one('\'', 4);
      return text.starts_with("''") ? one('\'', 2) : Unit{};
    case '"':  // doubled as in CSV
      return text.starts_with("\"\"") ? one('"', 2) : Unit{};
    default:
      return {};
  }
}

Unit unit_at(std::string_view text) {
  Unit unit = escaped(text);
  return unit.taken == 0 ? one(text[0], 1) : unit;
}

}  // namespace pawl::actions
