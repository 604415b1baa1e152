#include "base/base64.h"

#include <array>
#include <cstdint>

namespace pawl {
namespace {

constexpr std::string_view kBase64Digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr uint8_t kNoBase64Digit = 0xff;
constexpr std::array<uint8_t, 256> kBase64Values = [] {
  std::array<uint8_t, 256> values{};
  values.fill(kNoBase64Digit);
  for (size_t i = 0; i < kBase64Digits.size(); ++i)
    values[static_cast<uint8_t>(kBase64Digits[i])] = static_cast<uint8_t>(i);
  return values;
}();

uint32_t octet(char c) { return static_cast<uint8_t>(c); }
char digit(uint32_t bits) { return kBase64Digits[bits & 63]; }
uint32_t digit_value(char c) { return kBase64Values[static_cast<uint8_t>(c)]; }
char byte_of(uint32_t bits) { return static_cast<char>(bits & 0xff); }

// The last two or three digits of a text, whose padding is cut off.
bool append_last_group(std::string& out, std::string_view group) {
  const uint32_t a = digit_value(group[0]);
  const uint32_t b = digit_value(group[1]);
  const uint32_t c = group.size() == 3 ? digit_value(group[2]) : 0;
  if ((a | b | c) > 63) return false;
  if (group.size() == 2) {
    if ((b & 15) != 0) return false;
    out.push_back(byte_of(a << 2 | b >> 4));
    return true;
  }
  if ((c & 3) != 0) return false;
  out.push_back(byte_of(a << 2 | b >> 4));
  out.push_back(byte_of(b << 4 | c >> 2));
  return true;
}

}  // namespace

void append_base64(std::string& out, std::string_view bytes) {
  size_t at = out.size();
  out.resize(at + (bytes.size() + 2) / 3 * 4);
  for (; bytes.size() >= 3; bytes.remove_prefix(3)) {
    const uint32_t group = octet(bytes[0]) << 16 | octet(bytes[1]) << 8 | octet(bytes[2]);
    out[at++] = digit(group >> 18);
    out[at++] = digit(group >> 12);
    out[at++] = digit(group >> 6);
    out[at++] = digit(group);
  }
  if (bytes.empty()) return;
  const uint32_t group = octet(bytes[0]) << 16 | (bytes.size() == 2 ? octet(bytes[1]) << 8 : 0);
  out[at++] = digit(group >> 18);
  out[at++] = digit(group >> 12);
  out[at++] = bytes.size() == 2 ? digit(group >> 6) : '=';
  out[at++] = '=';
}

std::string base64(std::string_view bytes) {
  std::string out;
  append_base64(out, bytes);
  return out;
}

bool append_from_base64(std::string& out, std::string_view text) {
  if (text.size() % 4 != 0) return false;
  if (text.ends_with("==")) {
    text.remove_suffix(2);
  } else if (text.ends_with('=')) {
    text.remove_suffix(1);
  }
  const size_t begin = out.size();
  out.reserve(begin + text.size() / 4 * 3 + 2);
  for (; text.size() >= 4; text.remove_prefix(4)) {
    const uint32_t a = digit_value(text[0]);
    const uint32_t b = digit_value(text[1]);
    const uint32_t c = digit_value(text[2]);
    const uint32_t d = digit_value(text[3]);
    if ((a | b | c | d) > 63) return out.resize(begin), false;
    const uint32_t group = a << 18 | b << 12 | c << 6 | d;
    out.push_back(byte_of(group >> 16));
    out.push_back(byte_of(group >> 8));
    out.push_back(byte_of(group));
  }
  if (text.empty() || append_last_group(out, text)) return true;
  return out.resize(begin), false;
}

bool from_base64(std::string_view text, std::string& bytes) {
  bytes.clear();
  return append_from_base64(bytes, text);
}

}  // namespace pawl
