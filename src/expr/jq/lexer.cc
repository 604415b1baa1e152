#include "expr/jq/ast.h"
#include "expr/place.h"
#include "expr/text.h"

namespace pawl::expr::jq {
namespace {

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name(char c) { return is_name_start(c) || is_digit(c); }

class Lexer {
 public:
  Lexer(std::string_view text, uint32_t base) : text_(text), base_(base) {}

  Result<std::vector<Token>> run() {
    for (;;) {
      skip_blanks();
      Token token;
      token.offset = base_ + static_cast<uint32_t>(at_);
      if (at_ >= text_.size()) {
        tokens_.push_back(token);
        return std::move(tokens_);
      }
      const size_t start = at_;
      if (!scan(token))
        return Error{ErrorCode::InvalidContent, problem_, {{std::to_string(token.offset), ""}}};
      token.text = text_.substr(start, at_ - start);
      tokens_.push_back(token);
    }
  }

 private:
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void skip_blanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        ++at_;
      } else {
        return;
      }
    }
  }

  void names() {
    while (is_name(peek()) || (peek() == ':' && peek(1) == ':' && is_name_start(peek(2))))
      at_ += peek() == ':' ? 2 : 1;
  }

  bool scan(Token& token) {
    const char c = peek();
    if (c == '"') {
      token.kind = Token::Kind::String;
      problem_ = "the string does not end";
      return skip_string(0);
    }
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      token.kind = Token::Kind::Number;
      skip_number();
      return true;
    }
    const bool prefixed = (c == '.' || c == '$' || c == '@') && is_name_start(peek(1));
    if (is_name_start(c) || prefixed) {
      token.kind = c == '.'   ? Token::Kind::Field
                   : c == '$' ? Token::Kind::Variable
                   : c == '@' ? Token::Kind::Format
                              : Token::Kind::Name;
      ++at_;
      if (c == '.') {
        while (is_name(peek())) ++at_;
      } else {
        names();
      }
      return true;
    }
    token.kind = Token::Kind::Operator;
    for (const std::string_view op :
         {"?//=", "?//", "//=", "|=", "+=", "-=", "*=", "/=", "%=", "==", "!=", "<=",
          ">=",   "//",  "..",  ".",  "[",  "]",  "{",  "}",  "(",  ")",  "|",  ",",
          ":",    ";",   "=",   "<",  ">",  "+",  "-",  "*",  "/",  "%",  "?",  "$"}) {
      // "?//=" does not exist: it is "?" and "//=".
      if (!text_.substr(at_).starts_with(op)) continue;
      at_ += op == "?//=" ? 1 : op.size();
      return true;
    }
    problem_ = "unexpected character";
    return false;
  }

  void skip_number() {
    while (is_digit(peek())) ++at_;
    if (peek() == '.') ++at_;
    while (is_digit(peek())) ++at_;
    if (peek() != 'e' && peek() != 'E') return;
    const size_t sign = peek(1) == '+' || peek(1) == '-' ? 2 : 1;
    if (!is_digit(peek(sign))) return;
    at_ += sign;
    while (is_digit(peek())) ++at_;
  }

  // From its opening quote past its closing one, interpolations and the strings in them included.
  bool skip_string(uint32_t depth) {
    if (depth > 32) {
      problem_ = "strings nest too deep";
      return false;
    }
    for (++at_; at_ < text_.size(); ++at_) {
      if (peek() == '"') {
        ++at_;
        return true;
      }
      if (peek() != '\\') continue;
      ++at_;
      if (peek() != '(') continue;
      uint32_t open = 1;
      for (++at_; open > 0; ++at_) {
        if (at_ >= text_.size()) return false;
        if (peek() == '"') {
          if (!skip_string(depth + 1)) return false;
          --at_;
        } else if (peek() == '(') {
          ++open;
        } else if (peek() == ')') {
          --open;
        }
      }
      --at_;
    }
    return false;
  }

  std::string_view text_;
  uint32_t base_;
  size_t at_ = 0;
  std::vector<Token> tokens_;
  std::string problem_;
};

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view text, uint32_t base) {
  return Lexer(text, base).run();
}

Error error_at(std::string_view source, uint32_t offset, std::string_view message) {
  if (offset == kNowhere) return Error{ErrorCode::InvalidContent, std::string(message)};
  return Error{ErrorCode::InvalidContent, at_place(place_of(source, offset), message)};
}

}  // namespace pawl::expr::jq
