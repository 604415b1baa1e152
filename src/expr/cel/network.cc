#include "expr/cel/network.h"

#include <charconv>

#include "base/read_number.h"

namespace pawl::expr {
namespace {

bool parse_v4(std::string_view text, uint8_t* out) {
  for (int part = 0; part < 4; ++part) {
    const size_t end = part == 3 ? text.size() : text.find('.');
    if (end == std::string_view::npos || end == 0 || end > 3) return false;
    const std::string_view digits = text.substr(0, end);
    uint32_t value = 0;
    if (!read_number(digits, value) || value > 255) return false;
    if (digits.size() > 1 && digits[0] == '0') return false;
    out[part] = static_cast<uint8_t>(value);
    text.remove_prefix(part == 3 ? end : end + 1);
  }
  return text.empty();
}

// One side of "::", groups of up to four hex digits. The last may be an IPv4 address in dots.
bool parse_groups(std::string_view text, uint16_t* groups, size_t& count, bool& dots) {
  count = 0;
  if (text.empty()) return true;
  for (;;) {
    const size_t end = std::min(text.find(':'), text.size());
    const std::string_view part = text.substr(0, end);
    if (part.find('.') != std::string_view::npos) {
      uint8_t v4[4];
      if (end != text.size() || count > 6 || !parse_v4(part, v4)) return false;
      groups[count++] = static_cast<uint16_t>(v4[0] << 8 | v4[1]);
      groups[count++] = static_cast<uint16_t>(v4[2] << 8 | v4[3]);
      dots = true;
      return true;
    }
    uint32_t value = 0;
    if (part.empty() || part.size() > 4 || count > 7 || part[0] == '-') return false;
    if (!read_number(part, value, 16)) return false;
    groups[count++] = static_cast<uint16_t>(value);
    if (end == text.size()) return true;
    text.remove_prefix(end + 1);
    if (text.empty()) return false;
  }
}

}  // namespace

std::optional<IpAddress> parse_ip(std::string_view text) {
  IpAddress address;
  if (text.size() > 45) return std::nullopt;
  if (text.find(':') == std::string_view::npos) {
    address.v4 = true;
    if (!parse_v4(text, address.bytes.data())) return std::nullopt;
    return address;
  }
  uint16_t head[8] = {};
  uint16_t tail[8] = {};
  size_t head_count = 0;
  size_t tail_count = 0;
  bool dots = false;
  const size_t gap = text.find("::");
  if (gap == std::string_view::npos) {
    if (!parse_groups(text, head, head_count, dots) || head_count != 8) return std::nullopt;
  } else {
    if (!parse_groups(text.substr(0, gap), head, head_count, dots) || dots) return std::nullopt;
    if (!parse_groups(text.substr(gap + 2), tail, tail_count, dots) || head_count + tail_count > 7)
      return std::nullopt;
  }
  uint16_t groups[8] = {};
  for (size_t i = 0; i < head_count; ++i) groups[i] = head[i];
  for (size_t i = 0; i < tail_count; ++i) groups[8 - tail_count + i] = tail[i];
  for (size_t i = 0; i < 8; ++i) {
    address.bytes[2 * i] = static_cast<uint8_t>(groups[i] >> 8);
    address.bytes[2 * i + 1] = static_cast<uint8_t>(groups[i]);
  }
  bool mapped = groups[5] == 0xFFFF;
  for (size_t i = 0; i < 5; ++i) mapped = mapped && groups[i] == 0;
  if (!mapped) return address;
  if (dots) return std::nullopt;
  IpAddress v4;
  v4.v4 = true;
  for (size_t i = 0; i < 4; ++i) v4.bytes[i] = address.bytes[12 + i];
  return v4;
}

std::string format_ip(const IpAddress& address) {
  std::string out;
  if (address.v4) {
    for (size_t i = 0; i < 4; ++i) out += (i == 0 ? "" : ".") + std::to_string(address.bytes[i]);
    return out;
  }
  const auto group = [&](size_t i) { return address.bytes[2 * i] << 8 | address.bytes[2 * i + 1]; };
  size_t best = 8;
  size_t best_length = 1;  // a single zero group is not shortened
  for (size_t i = 0; i < 8; ++i) {
    size_t length = 0;
    while (i + length < 8 && group(i + length) == 0) ++length;
    if (length > best_length) {
      best = i;
      best_length = length;
    }
  }
  for (size_t i = 0; i < 8; ++i) {
    if (i == best) {
      out += "::";
      i += best_length - 1;
      continue;
    }
    if (!out.empty() && out.back() != ':') out += ':';
    char text[8];
    const auto end = std::to_chars(text, text + sizeof text, group(i), 16).ptr;
    out.append(text, end);
  }
  return out;
}

}  // namespace pawl::expr
