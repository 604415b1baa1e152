// One place of a text, read as what it stands for: JSON's escapes and those that other languages
// share with it, percent-encoding, HTML's entities, quotes doubled or as in a shell's.
//
// Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pawl::actions {

constexpr size_t kUnitBytesMax = 13;  // of the text: &#x0010ffff;

// A few bytes of a text are a few bytes of what is meant.
struct Unit {
  char bytes[4];
  uint8_t size = 0;
  size_t taken = 0;  // 0: nothing is escaped here; at most kUnitBytesMax

  void add(char c) { bytes[size++] = c; }
};

constexpr std::string_view kEscapeBeginnings = "\\%&'\"";

// What is escaped at the beginning of the text.
Unit escaped(std::string_view text);
// The same, or else the first byte as it is. The text is not empty.
Unit unit_at(std::string_view text);

}  // namespace pawl::actions
