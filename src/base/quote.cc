#include "base/quote.h"

namespace pawl {

std::string in_quotes(std::string_view text) {
  constexpr size_t kQuoteMax = 64;
  std::string out = "\"";
  for (char c : text.substr(0, kQuoteMax)) out += (c >= 0x20 && c < 0x7f) ? c : '?';
  out += text.size() > kQuoteMax ? "…\"" : "\"";
  return out;
}

}  // namespace pawl
