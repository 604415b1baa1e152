#include "base/base64.h"

#include <array>
#include <cstdint>

namespace pawl {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t kNone = 64;

constexpr std::array<uint8_t, 256> kValues = [] {
  std::array<uint8_t, 256> values{};
  values.fill(kNone);
  for (size_t i = 0; i < kAlphabet.size(); ++i)
    values[static_cast<uint8_t>(kAlphabet[i])] = static_cast<uint8_t>(i);
  return values;
}();

uint32_t byte_at(std::string_view bytes, size_t at) { return static_cast<uint8_t>(bytes[at]); }

}  // namespace

std::string base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  auto put = [&](uint32_t group, size_t letters) {
    for (size_t i = 0; i < 4; ++i)
      out.push_back(i < letters ? kAlphabet[group >> (18 - 6 * i) & 63] : '=');
  };
  size_t at = 0;
  for (; bytes.size() - at >= 3; at += 3)
    put(byte_at(bytes, at) << 16 | byte_at(bytes, at + 1) << 8 | byte_at(bytes, at + 2), 4);
  if (bytes.size() - at == 1) put(byte_at(bytes, at) << 16, 2);
  if (bytes.size() - at == 2) put(byte_at(bytes, at) << 16 | byte_at(bytes, at + 1) << 8, 3);
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  size_t letters = text.size();
  while (letters > 0 && text.size() - letters < 2 && text[letters - 1] == '=') --letters;
  std::string out;
  out.reserve(text.size() / 4 * 3);
  uint32_t bits = 0;
  for (size_t at = 0; at < letters; ++at) {
    uint8_t value = kValues[static_cast<uint8_t>(text[at])];
    if (value == kNone) return std::nullopt;
    bits = bits << 6 | value;
    if (at % 4 == 0) continue;
    const size_t left = 6 - 2 * (at % 4);  // bits that belong to the next byte
    out.push_back(static_cast<char>(bits >> left & 0xff));
    bits &= (1u << left) - 1;
  }
  if (bits != 0) return std::nullopt;
  return out;
}

}  // namespace pawl
