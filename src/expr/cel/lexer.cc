#include "expr/cel/lexer.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "base/utf8.h"
#include "expr/place.h"
#include "expr/text.h"

namespace pawl::expr {
namespace {

bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool starts_ident(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool in_ident(char c) { return starts_ident(c) || is_digit(c); }

uint32_t hex_digit(char c) {
  if (is_digit(c)) return static_cast<uint32_t>(c - '0');
  return static_cast<uint32_t>((c | 0x20) - 'a' + 10);
}

struct Symbol {
  std::string_view text;
  Tok kind;
};
// Longer ones first.
constexpr Symbol kSymbols[] = {
    {"&&", Tok::AndAnd},    {"||", Tok::OrOr},         {"==", Tok::Equal},   {"!=", Tok::NotEqual},
    {"<=", Tok::LessEqual}, {">=", Tok::GreaterEqual}, {"<", Tok::Less},     {">", Tok::Greater},
    {"!", Tok::Not},        {"(", Tok::LParen},        {")", Tok::RParen},   {"[", Tok::LBracket},
    {"]", Tok::RBracket},   {"{", Tok::LBrace},        {"}", Tok::RBrace},   {".", Tok::Dot},
    {",", Tok::Comma},      {":", Tok::Colon},         {"?", Tok::Question}, {"+", Tok::Plus},
    {"-", Tok::Minus},      {"*", Tok::Star},          {"/", Tok::Slash},    {"%", Tok::Percent},
};

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  Result<std::vector<Token>> run() {
    PAWL_TRY_DO(check_utf8());
    for (;;) {
      skip_blank();
      PAWL_TRY(Token token, next());
      tokens_.push_back(std::move(token));
      if (tokens_.back().kind == Tok::End) return std::move(tokens_);
    }
  }

 private:
  Error wrong(size_t offset, const std::string& message) const {
    return error_at(ErrorCode::Malformed, source_, static_cast<uint32_t>(offset), message);
  }

  Status check_utf8() const {
    for (size_t i = 0; i < source_.size();) {
      const size_t length = utf8::sequence_length(source_.substr(i));
      if (length == 0) return wrong(i, "expected UTF-8 text");
      i += length;
    }
    return ok_status();
  }

  char peek(size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }

  void skip_blank() {
    for (;;) {
      const char c = peek();
      if (at_ < source_.size() && (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f')) {
        ++at_;
      } else if (c == '/' && peek(1) == '/') {
        while (at_ < source_.size() && peek() != '\n') ++at_;
      } else {
        return;
      }
    }
  }

  Token token(Tok kind, size_t from) const {
    return Token{kind, static_cast<uint32_t>(from), source_.substr(from, at_ - from), Val()};
  }

  Result<Token> next() {
    const size_t from = at_;
    if (at_ >= source_.size()) return token(Tok::End, from);
    const char c = peek();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
    if (size_t prefix = string_prefix(); prefix != std::string_view::npos) return text(prefix);
    if (starts_ident(c)) return word();
    if (c == '`') return in_quotes();
    for (const Symbol& symbol : kSymbols) {
      if (source_.substr(at_, symbol.text.size()) != symbol.text) continue;
      at_ += symbol.text.size();
      return token(symbol.kind, from);
    }
    const size_t length = utf8::sequence_length(source_.substr(at_));
    return wrong(from, "unexpected character '" + std::string(source_.substr(at_, length)) + "'");
  }

  Result<Token> word() {
    const size_t from = at_;
    while (in_ident(peek())) ++at_;
    Token result = token(Tok::Ident, from);
    if (result.text == "in") result.kind = Tok::In;
    if (result.text == "true" || result.text == "false") {
      result.kind = Tok::Literal;
      result.literal = Val::boolean(result.text == "true");
    }
    if (result.text == "null") {
      result.kind = Tok::Literal;
      result.literal = Val::null();
    }
    return result;
  }

  Result<Token> in_quotes() {
    const size_t from = at_++;
    while (in_ident(peek()) ||
           (peek() != '\0' && std::string_view(".-/ ").find(peek()) != std::string_view::npos))
      ++at_;
    if (peek() != '`' || at_ == from + 1) {
      return wrong(
          at_,
          "expected a field name of letters, digits, '_', '.', '-', '/' and ' ' between backticks");
    }
    ++at_;
    Token result = token(Tok::Quoted, from);
    result.text = result.text.substr(1, result.text.size() - 2);
    return result;
  }

  Result<Token> number() {
    const size_t from = at_;
    if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X') && is_hex(peek(2))) {
      at_ += 2;
      while (is_hex(peek())) ++at_;
      return integer(from, from + 2, 16);
    }
    while (is_digit(peek())) ++at_;
    bool real = false;
    if (peek() == '.' && is_digit(peek(1))) {
      real = true;
      ++at_;
      while (is_digit(peek())) ++at_;
    }
    const size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
    if ((peek() == 'e' || peek() == 'E') && is_digit(peek(1 + sign))) {
      real = true;
      at_ += 1 + sign;
      while (is_digit(peek())) ++at_;
    }
    if (!real) return integer(from, from, 10);
    Token result = token(Tok::Literal, from);
    const double value = std::strtod(std::string(result.text).c_str(), nullptr);
    if (!std::isfinite(value)) return wrong(from, "the number is outside the range of double");
    result.literal = Val::real(value);
    return after_number(result);
  }

  Result<Token> integer(size_t from, size_t digits_from, int base) {
    uint64_t value = 0;
    const auto parsed =
        std::from_chars(source_.data() + digits_from, source_.data() + at_, value, base);
    if (parsed.ec != std::errc()) return wrong(from, "the integer is outside 64 bits");
    if (peek() == 'u' || peek() == 'U') {
      ++at_;
      Token result = token(Tok::Literal, from);
      result.literal = Val::uint(value);
      return after_number(result);
    }
    // 2^63 is allowed only right behind a minus sign, which the parser joins with it.
    const bool negated = !tokens_.empty() && tokens_.back().kind == Tok::Minus;
    if (value > static_cast<uint64_t>(INT64_MAX) + (negated ? 1 : 0)) {
      return wrong(from, "the integer is outside int64; write it as unsigned with the suffix u");
    }
    Token result = token(Tok::Literal, from);
    result.literal = Val::integer(static_cast<int64_t>(value));
    return after_number(result);
  }

  Result<Token> after_number(Token& result) const {
    if (in_ident(peek())) return wrong(at_, "expected an operator after the number");
    return std::move(result);
  }

  // Length of a prefix of r and b before a quote (0 for a bare quote), npos if no string starts
  // here.
  size_t string_prefix() const {
    bool raw = false;
    bool bytes = false;
    for (size_t i = 0; i < 3; ++i) {
      const char c = peek(i);
      if (c == '"' || c == '\'') return i;
      if ((c == 'r' || c == 'R') && !raw) {
        raw = true;
      } else if ((c == 'b' || c == 'B') && !bytes) {
        bytes = true;
      } else {
        break;
      }
    }
    return std::string_view::npos;
  }

  Result<Token> text(size_t prefix) {
    const size_t from = at_;
    bool raw = false;
    bool bytes = false;
    for (size_t i = 0; i < prefix; ++i) {
      ((peek(i) | 0x20) == 'r' ? raw : bytes) = true;
    }
    at_ += prefix;
    const char quote = peek();
    const std::string triple(3, quote);
    const bool is_triple = source_.substr(at_, 3) == triple;
    const std::string_view closing = std::string_view(triple).substr(0, is_triple ? 3 : 1);
    at_ += closing.size();
    std::string out;
    while (source_.substr(at_, closing.size()) != closing) {
      if (at_ >= source_.size()) return wrong(from, "the string is not closed");
      const char c = peek();
      if (!is_triple && (c == '\n' || c == '\r'))
        return wrong(at_, "expected the closing quote before the end of the line");
      if (c == '\\' && !raw) {
        PAWL_TRY_DO(escape(bytes, out));
        continue;
      }
      if (c == '\r') {  // line ends inside a literal are one line feed, whatever the editor wrote
        at_ += peek(1) == '\n' ? 2 : 1;
        out += '\n';
        continue;
      }
      // A backslash of a raw string may stand before a quote without ending the string.
      out += c;
      ++at_;
    }
    at_ += closing.size();
    Token result = token(Tok::Literal, from);
    result.literal = bytes ? Val::bytes(std::move(out)) : Val::string(std::move(out));
    return result;
  }

  Status escape(bool bytes, std::string& out) {
    const size_t from = at_;
    const char c = peek(1);
    at_ += 2;
    static constexpr std::string_view kFrom = "abfnrtv\\?\"'`";
    static constexpr std::string_view kTo = "\a\b\f\n\r\t\v\\?\"'`";
    if (const size_t i = kFrom.find(c); c != '\0' && i != std::string_view::npos) {
      out += kTo[i];
      return ok_status();
    }
    if (c == 'x' || c == 'X') return coded(from, 2, 16, bytes, out);
    if (c == 'u' && !bytes) return coded(from, 4, 16, false, out);
    if (c == 'U' && !bytes) return coded(from, 8, 16, false, out);
    if (c >= '0' && c <= '3') {
      --at_;
      return coded(from, 3, 8, bytes, out);
    }
    return wrong(from, bytes && (c == 'u' || c == 'U') ? "unicode escapes are not allowed in bytes"
                                                       : "expected a known escape sequence");
  }

  Status coded(size_t from, size_t digits, uint32_t base, bool octet, std::string& out) {
    uint32_t code = 0;
    for (size_t i = 0; i < digits; ++i) {
      const char c = peek();
      if (base == 16 ? !is_hex(c) : (c < '0' || c > '7')) {
        return wrong(from, "expected " + std::to_string(digits) +
                               (base == 16 ? " hex digits" : " octal digits") +
                               " in the escape sequence");
      }
      code = code * base + hex_digit(c);
      ++at_;
    }
    if (octet) {
      out += static_cast<char>(code);
      return ok_status();
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
      return wrong(from, "the escape sequence is not a Unicode code point");
    }
    utf8::append(out, code);
    return ok_status();
  }

  std::string_view source_;
  size_t at_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

Error error_at(ErrorCode code, std::string_view source, uint32_t offset,
               const std::string& message) {
  const Place place = place_of(source, offset);
  return Error{code,
               at_place(place, message),
               {Complaint{std::to_string(place.line) + ":" + std::to_string(place.column), message,
                          "offset:" + std::to_string(offset)}}};
}

Result<std::vector<Token>> tokenize(std::string_view source) { return Lexer(source).run(); }

std::string describe(const Token& token) {
  if (token.kind == Tok::End) return "the end of the expression";
  return "'" + std::string(token.text.substr(0, 40)) + "'";
}

}  // namespace pawl::expr
