#include "base/json_writer.h"

#include <cmath>

#include "base/make_room.h"
#include "base/plain_text.h"
#include "base/short_text.h"
#include "base/time.h"

namespace pawl::json {
namespace {

using Piece = ShortText<128>;
constexpr size_t kAroundText = 4;  // comma, quotes, colon

bool is_short_and_plain(std::string_view text) {
  return Piece::fits(text.size() + kAroundText) &&
         plain_length<HighBytes::Plain>(text) == text.size();
}

}  // namespace

void append_quoted(std::string& out, std::string_view text) {
  if (is_short_and_plain(text)) return Piece().put('"').put(text).put('"').append_to(out);
  static constexpr char kHex[] = "0123456789abcdef";
  make_room(out, text.size() + 2);
  out.push_back('"');
  size_t plain_from = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    i += plain_length<HighBytes::Plain>(text.substr(i));
    if (i == text.size()) break;
    unsigned char c = static_cast<unsigned char>(text[i]);
    out.append(text.substr(plain_from, i - plain_from));
    plain_from = i + 1;
    out.push_back('\\');
    switch (c) {
      case '"':
      case '\\':
        out.push_back(static_cast<char>(c));
        break;
      case '\n':
        out.push_back('n');
        break;
      case '\r':
        out.push_back('r');
        break;
      case '\t':
        out.push_back('t');
        break;
      default:
        out.append("u00");
        out.push_back(kHex[c >> 4]);
        out.push_back(kHex[c & 15]);
    }
  }
  out.append(text.substr(plain_from));
  out.push_back('"');
}

Writer& Writer::key(std::string_view name) {
  if (is_short_and_plain(name)) {
    Piece piece;
    if (needs_comma()) piece.put(',');
    piece.put('"').put(name).put("\":").append_to(out_);
    return *this;
  }
  separate();
  append_quoted(out_, name);
  out_.push_back(':');
  return *this;
}

Writer& Writer::real(double value) {
  if (!std::isfinite(value)) return null();
  separate();
  char buffer[32];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  out_.append(buffer, end);
  return *this;
}

Writer& Writer::time(int64_t unix_ms) {
  separate();
  out_.push_back('"');
  append_rfc3339_ms(out_, unix_ms);
  out_.push_back('"');
  return *this;
}

}  // namespace pawl::json
