#include <charconv>

#include "base/utf8.h"
#include "expr/exprlang/ast.h"
#include "expr/place.h"
#include "expr/text.h"

namespace pawl::expr::lang {
namespace {

bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_name(char c) { return is_name_start(c) || is_digit(c); }

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  Result<std::vector<Token>> run() {
    while (skip_blanks() && at_ < source_.size()) {
      Token token;
      token.offset = static_cast<uint32_t>(at_);
      const char c = source_[at_];
      if (is_digit(c) || (c == '.' && is_digit(peek(1)) && !after_value())) {
        number(token);
      } else if (c == '"' || c == '\'') {
        string(token, c);
      } else if (c == '`') {
        raw_string(token);
      } else if (is_name_start(c)) {
        token.kind = Token::Kind::Name;
        while (at_ < source_.size() && is_name(source_[at_])) token.text += source_[at_++];
      } else {
        punctuation(token);
      }
      if (!problem_.empty()) break;
      tokens_.push_back(std::move(token));
    }
    if (!problem_.empty()) return error_at(source_, problem_offset_, problem_);
    tokens_.push_back({Token::Kind::End, static_cast<uint32_t>(source_.size()), "", {}});
    return std::move(tokens_);
  }

 private:
  char peek(size_t ahead) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }
  // After a value, ".5" is no number: `#.5` or `a.5` are mistakes, not two values.
  bool after_value() const {
    return !tokens_.empty() && (tokens_.back().kind == Token::Kind::Name ||
                                tokens_.back().text == ")" || tokens_.back().text == "]");
  }
  void fail(size_t offset, std::string message) {
    if (!problem_.empty()) return;
    problem_ = std::move(message);
    problem_offset_ = static_cast<uint32_t>(offset);
  }

  bool skip_blanks() {
    while (at_ < source_.size()) {
      const char c = source_[at_];
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        ++at_;
      } else if (source_.substr(at_).starts_with("//") ||
                 (c == '#' && (peek(1) == ' ' || peek(1) == '!') && tokens_.empty())) {
        at_ = std::min(source_.find('\n', at_), source_.size());
      } else if (source_.substr(at_).starts_with("/*")) {
        const size_t end = source_.find("*/", at_ + 2);
        if (end == std::string_view::npos) fail(at_, "the comment does not end");
        if (end == std::string_view::npos) return false;
        at_ = end + 2;
      } else {
        break;
      }
    }
    return true;
  }

  void number(Token& token) {
    token.kind = Token::Kind::Number;
    const size_t start = at_;
    int base = 10;
    if (source_[at_] == '0' && (peek(1) == 'x' || peek(1) == 'b' || peek(1) == 'o')) {
      base = peek(1) == 'x' ? 16 : peek(1) == 'b' ? 2 : 8;
      at_ += 2;
    }
    std::string digits;
    bool real = false;
    while (at_ < source_.size()) {
      const char c = source_[at_];
      const bool exponent = base == 10 && (c == 'e' || c == 'E');
      if (c == '_') {
        ++at_;
        continue;
      }
      if (base == 10 && c == '.' && !real && is_digit(peek(1))) {
        real = true;
      } else if (exponent && (is_digit(peek(1)) || is_digit(peek(2)))) {
        real = true;
        digits += c;
        ++at_;
        if (source_[at_] != '+' && source_[at_] != '-') continue;
      } else if (!(base == 16 ? std::isxdigit(static_cast<unsigned char>(c)) != 0 : is_digit(c))) {
        break;
      }
      digits += source_[at_++];
    }
    const char* const first = digits.data();
    const char* const last = first + digits.size();
    int64_t whole = 0;
    if (!real) {
      const auto [stop, status] = std::from_chars(first, last, whole, base);
      if (status == std::errc() && stop == last && first != last) {
        token.number = Value(whole);
        return;
      }
    }
    double value = 0;
    const auto [stop, status] = std::from_chars(first, last, value);
    if (base != 10 || status != std::errc() || stop != last) return fail(start, "bad number");
    token.number = Value(value);
  }

  void escape(Token& token) {
    const char c = peek(1);
    constexpr std::string_view kFrom = "abfnrtv\\'\"`";
    constexpr std::string_view kTo = "\a\b\f\n\r\t\v\\'\"`";
    if (const size_t known = kFrom.find(c); c != '\0' && known != std::string_view::npos) {
      token.text += kTo[known];
      at_ += 2;
      return;
    }
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    uint32_t code = 0;
    if (digits == 0 || at_ + 2 + digits > source_.size())
      return fail(at_, "unknown escape in a string");
    const char* const first = source_.data() + at_ + 2;
    const auto [stop, status] = std::from_chars(first, first + digits, code, 16);
    if (status != std::errc() || stop != first + digits || code > 0x10FFFF ||
        (code >= 0xD800 && code <= 0xDFFF))
      return fail(at_, "unknown escape in a string");
    utf8::append(token.text, code);
    at_ += 2 + digits;
  }

  void string(Token& token, char quote) {
    token.kind = Token::Kind::String;
    const size_t start = at_++;
    while (at_ < source_.size() && source_[at_] != quote && problem_.empty()) {
      if (source_[at_] == '\\') {
        escape(token);
      } else {
        token.text += source_[at_++];
      }
    }
    if (at_ >= source_.size()) return fail(start, "the string does not end");
    ++at_;
  }

  void raw_string(Token& token) {
    token.kind = Token::Kind::String;
    const size_t end = source_.find('`', at_ + 1);
    if (end == std::string_view::npos) return fail(at_, "the string does not end");
    token.text = source_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
  }

  void punctuation(Token& token) {
    constexpr std::string_view kOperators[] = {"?.", "??", "?:", "**", "==", "!=", "<=", ">=", "&&",
                                               "||", "..", "+",  "-",  "*",  "/",  "%",  "^",  "<",
                                               ">",  "!",  "|",  "?",  ":",  ",",  ".",  ";",  "=",
                                               "#",  "(",  ")",  "[",  "]",  "{",  "}"};
    for (const std::string_view candidate : kOperators) {
      if (!source_.substr(at_).starts_with(candidate)) continue;
      // In `a ?.5 : b` the dot belongs to the number.
      if (candidate == "?." && is_digit(peek(2))) continue;
      const bool bracket = std::string_view("()[]{}").find(candidate) != std::string_view::npos;
      token.kind = bracket ? Token::Kind::Bracket : Token::Kind::Operator;
      token.text = candidate;
      at_ += candidate.size();
      return;
    }
    fail(at_, "unexpected character");
  }

  std::string_view source_;
  size_t at_ = 0;
  std::vector<Token> tokens_;
  std::string problem_;
  uint32_t problem_offset_ = 0;
};

}  // namespace

Error error_at(std::string_view source, uint32_t offset, std::string_view message) {
  return Error{ErrorCode::InvalidContent, at_place(place_of(source, offset), message)};
}

Result<std::vector<Token>> tokenize(std::string_view source) { return Lexer(source).run(); }

}  // namespace pawl::expr::lang
