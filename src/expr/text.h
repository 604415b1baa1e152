// Text as the languages here read and print it: code points, and numbers the way CEL prints them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::expr {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
// Without spaces, tabs and line ends on both sides.
std::string_view trimmed(std::string_view text);

size_t count_code_points(std::string_view text);
bool is_utf8(std::string_view text);
// Where the code point of this number begins; the text's size for the number after the last, npos
// beyond.
size_t offset_of_code_point(std::string_view text, uint64_t index);
// The code points from last to first.
std::string reversed(std::string_view text);
// The text repeated until it has this many bytes, by doubling: the cost is the number of bytes,
// however short the text is. An empty text stays empty.
std::string repeat_text(std::string_view text, size_t bytes);
// The code point at a byte offset of valid UTF-8.
uint32_t code_point_at(std::string_view text, size_t at);
bool is_space(uint32_t code_point);  // Unicode White_Space

// Shortest text that reads back the same: as string(double) prints it, with an exponent from 1e+06
// on or below 1e-05.
std::string format_general(double value);
// The same digits without an exponent, and no trailing ".0".
std::string format_plain(double value);

}  // namespace pawl::expr
