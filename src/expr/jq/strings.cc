// String literals: escapes and interpolation.
#include <algorithm>
#include <charconv>

#include "base/utf8.h"
#include "expr/jq/ast.h"
#include "expr/text.h"

namespace pawl::expr::jq {
namespace {

size_t string_end(std::string_view text, size_t at);

// Where the parenthesis that is open at `at` closes. The lexer has checked that it does.
size_t interpolation_end(std::string_view text, size_t at) {
  for (uint32_t open = 1; at < text.size(); ++at) {
    if (text[at] == '"') {
      at = string_end(text, at);
    } else if (text[at] == '(') {
      ++open;
    } else if (text[at] == ')' && --open == 0) {
      break;
    }
  }
  return std::min(at, text.size());
}

size_t string_end(std::string_view text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] != '\\') continue;
    ++at;
    if (at < text.size() && text[at] == '(') at = interpolation_end(text, at + 1);
  }
  return at;
}

bool code_unit(std::string_view text, size_t at, uint32_t& code) {
  const std::string_view digits = at < text.size() ? text.substr(at, 4) : std::string_view();
  const char* const last = digits.data() + digits.size();
  const auto [stop, status] = std::from_chars(digits.data(), last, code, 16);
  return digits.size() == 4 && status == std::errc() && stop == last;
}

// One escape that is no interpolation; how many bytes it took, 0 if it is none.
size_t read_escape(std::string_view text, size_t at, std::string& out) {
  constexpr std::string_view kFrom = "\"\\/bfnrt";
  constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
  const char c = at + 1 < text.size() ? text[at + 1] : '\0';
  if (const size_t known = kFrom.find(c); c != '\0' && known != std::string_view::npos) {
    out += kTo[known];
    return 2;
  }
  uint32_t code = 0;
  if (c != 'u' || !code_unit(text, at + 2, code)) return 0;
  size_t taken = 6;
  uint32_t low = 0;
  if (code >= 0xD800 && code < 0xDC00 && text.substr(at + 6).starts_with("\\u") &&
      code_unit(text, at + 8, low) && low >= 0xDC00 && low <= 0xDFFF) {
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    taken = 12;
  }
  utf8::append(out, code >= 0xD800 && code <= 0xDFFF ? 0xFFFD : code);
  return taken;
}

}  // namespace

std::vector<StringPart> split_string(const Token& token) {
  const std::string_view text = token.text.substr(1, token.text.size() - 2);
  std::vector<StringPart> parts(1);
  for (size_t i = 0; i < text.size();) {
    StringPart& part = parts.back();
    if (text[i] != '\\') {
      part.text += text[i++];
    } else if (i + 1 < text.size() && text[i + 1] == '(') {
      const size_t end = interpolation_end(text, i + 2);
      StringPart filter;
      filter.filter = true;
      filter.source = text.substr(i + 2, end - i - 2);
      filter.offset = token.offset + static_cast<uint32_t>(i) + 3;
      parts.push_back(std::move(filter));
      parts.emplace_back();
      i = end + 1;
    } else {
      const size_t taken = read_escape(text, i, part.text);
      if (taken == 0) part.problem = "bad escape in a string";
      i += std::max<size_t>(taken, 1);
    }
  }
  for (StringPart& part : parts) {
    if (!is_utf8(part.text)) part.problem = "the string is no UTF-8";
  }
  return parts;
}

}  // namespace pawl::expr::jq
