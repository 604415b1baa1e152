#include "expr/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/utf8.h"

namespace pawl::expr {

std::string_view trimmed(std::string_view text) {
  const size_t from = text.find_first_not_of(" \t\r\n");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r\n") - from + 1);
}

size_t count_code_points(std::string_view text) {
  size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8::sequence_length(text.substr(i));
    if (length == 0) return false;
    i += length;
  }
  return true;
}

size_t offset_of_code_point(std::string_view text, uint64_t index) {
  if (index > text.size()) return std::string_view::npos;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) == 0x80) continue;
    if (index-- == 0) return i;
  }
  return index == 0 ? text.size() : std::string_view::npos;
}

std::string repeat_text(std::string_view text, size_t bytes) {
  std::string out(text.substr(0, bytes));
  out.reserve(bytes);
  while (!out.empty() && out.size() < bytes)
    out.append(out, 0, std::min(out.size(), bytes - out.size()));
  return out;
}

std::string reversed(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t end = text.size(); end > 0;) {
    size_t begin = end - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
    out.append(text, begin, end - begin);
    end = begin;
  }
  return out;
}

uint32_t code_point_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return at + i < text.size() ? static_cast<uint32_t>(static_cast<unsigned char>(text[at + i]))
                                : 0u;
  };
  const uint32_t first = byte(0);
  if (first < 0x80) return first;
  if (first < 0xE0) return (first & 0x1F) << 6 | (byte(1) & 0x3F);
  if (first < 0xF0) return (first & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
  return (first & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
}

bool is_space(uint32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

namespace {

struct Digits {
  bool negative = false;
  std::string digits;  // without leading zeros
  int exponent = 0;    // of the first digit: value = d.ddd × 10^exponent
};

Digits shortest(double value) {
  char text[40];
  const char* end =
      std::to_chars(text, text + sizeof text, value, std::chars_format::scientific).ptr;
  Digits result;
  const char* at = text;
  if (*at == '-') {
    result.negative = true;
    ++at;
  }
  for (; at != end && *at != 'e'; ++at) {
    if (*at != '.') result.digits += *at;
  }
  if (at != end) {
    ++at;
    const bool minus = *at == '-';
    int exponent = 0;
    std::from_chars(at + 1, end, exponent);
    result.exponent = minus ? -exponent : exponent;
  }
  return result;
}

std::string non_finite(double value) {
  if (std::isnan(value)) return "NaN";
  return value > 0 ? "Infinity" : "-Infinity";
}

std::string without_exponent(const Digits& parts) {
  std::string out = parts.negative ? "-" : "";
  if (parts.exponent < 0) {
    out += "0.";
    for (int i = parts.exponent; i < -1; ++i) out += '0';
    return out + parts.digits;
  }
  const size_t whole = static_cast<size_t>(parts.exponent) + 1;
  if (whole >= parts.digits.size()) {
    out += parts.digits;
    return out.append(whole - parts.digits.size(), '0');
  }
  return out + parts.digits.substr(0, whole) + "." + parts.digits.substr(whole);
}

}  // namespace

std::string format_general(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
  const Digits parts = shortest(value);
  if (parts.exponent >= -4 && parts.exponent < 6) return without_exponent(parts);
  std::string out = parts.negative ? "-" : "";
  out += parts.digits[0];
  if (parts.digits.size() > 1) out += "." + parts.digits.substr(1);
  out += parts.exponent < 0 ? "e-" : "e+";
  const std::string exponent = std::to_string(std::abs(parts.exponent));
  return out.append(exponent.size() < 2 ? 1 : 0, '0') + exponent;
}

std::string format_plain(double value) {
  return std::isfinite(value) ? without_exponent(shortest(value)) : non_finite(value);
}

}  // namespace pawl::expr
