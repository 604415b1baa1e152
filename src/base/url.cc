#include "base/url.h"

#include "base/ascii.h"

namespace pawl {
namespace {

std::optional<std::string> decode(std::string_view text, bool plus_is_blank) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (text.size() - i < 3) return std::nullopt;
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && plus_is_blank) {
      c = ' ';
    }
    if (c == '\0') return std::nullopt;
    out.push_back(c);
  }
  return out;
}

// Takes "name=value" off the front of `query`.
std::pair<std::string_view, std::string_view> next_pair(std::string_view& query) {
  const size_t end = query.find('&');
  const std::string_view pair = query.substr(0, end);
  query = end == std::string_view::npos ? std::string_view{} : query.substr(end + 1);
  const size_t equals = pair.find('=');
  if (equals == std::string_view::npos) return {pair, {}};
  return {pair.substr(0, equals), pair.substr(equals + 1)};
}

}  // namespace

std::optional<std::string> percent_decode(std::string_view text) { return decode(text, false); }

std::string percent_encode(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out.push_back(c);
    } else {
      out.push_back('%');
      out.push_back(kHex[byte >> 4]);
      out.push_back(kHex[byte & 15]);
    }
  }
  return out;
}

std::optional<std::string> query_param(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const auto [raw_name, raw_value] = next_pair(query);
    const std::optional<std::string> decoded = decode(raw_name, true);
    if (decoded && *decoded == name) return decode(raw_value, true);
  }
  return std::nullopt;
}

std::optional<std::vector<std::pair<std::string, std::string>>> query_params(
    std::string_view query) {
  std::vector<std::pair<std::string, std::string>> pairs;
  while (!query.empty()) {
    const auto [raw_name, raw_value] = next_pair(query);
    if (raw_name.empty() && raw_value.empty()) continue;
    std::optional<std::string> name = decode(raw_name, true);
    std::optional<std::string> value = decode(raw_value, true);
    if (!name || !value) return std::nullopt;
    pairs.emplace_back(std::move(*name), std::move(*value));
  }
  return pairs;
}

}  // namespace pawl
