#include "actions/header_rule.h"

#include <algorithm>
#include <array>

#include "base/quote.h"

namespace pawl::actions {
namespace {

constexpr size_t kNameBytesMax = 256;
constexpr size_t kValueBytesMax = 64 * 1024;

bool is_value_character(char c) {
  return (static_cast<unsigned char>(c) >= ' ' && c != '\x7f') || c == '\t';
}

}  // namespace

bool is_token(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kMarks.find(c) != std::string_view::npos;
  });
}

std::string plain_header_name(std::string_view name) {
  std::string plain(name);
  for (char& c : plain) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '_') c = '-';
  }
  return plain;
}

bool is_reserved_header(std::string_view name) {
  static constexpr std::array<std::string_view, 11> kReserved = {
      "host", "content-length", "transfer-encoding", "connection", "keep-alive",    "upgrade",
      "te",   "trailer",        "trailers",          "expect",     "http2-settings"};
  const std::string plain = plain_header_name(name);
  return plain.starts_with("proxy-") ||
         std::find(kReserved.begin(), kReserved.end(), plain) != kReserved.end();
}

std::string header_problem(std::string_view name, std::string_view value) {
  if (!is_token(name) || name.size() > kNameBytesMax)
    return "header " + in_quotes(name) + " cannot be sent: it is no header's name";
  if (is_reserved_header(name))
    return "header " + in_quotes(name) + " cannot be set: it is the client's own";
  if (!std::all_of(value.begin(), value.end(), is_value_character))
    return "header " + in_quotes(name) + " cannot be sent: its value holds control characters";
  if (value.size() > kValueBytesMax)
    return "header " + in_quotes(name) + " cannot be sent: its value is longer than 64 KiB";
  return "";
}

}  // namespace pawl::actions
