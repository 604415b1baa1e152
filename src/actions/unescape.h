// Decodes one place of a text: JSON's escapes and those that other languages share with it,
// percent-encoding, HTML's entities, quotes doubled or escaped for a shell.
//
// Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pawl::actions {

constexpr size_t kUnitBytesMax = 13;  // of the text: &#x0010ffff;

// A few bytes of a text, and the bytes they stand for.
struct Unit {
  char bytes[4];
  uint8_t size = 0;
  size_t taken = 0;  // 0: nothing is escaped here; at most kUnitBytesMax

  void add(char c) { bytes[size++] = c; }
};

constexpr std::string_view kEscapeBeginnings = "\\%&'\"";

// Decodes the escape at the beginning of the text.
Unit escaped(std::string_view text);
// The same, or the first byte itself. The text is not empty.
Unit unit_at(std::string_view text);

}  // namespace pawl::actions
