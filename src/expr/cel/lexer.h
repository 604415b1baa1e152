// Lexer: CEL source text to tokens. Literals are decoded here; everything else is a slice of the
// source.
//
// The source must be UTF-8. An error carries the byte offset, and says what was expected there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "expr/cel/val.h"

namespace pawl::expr {

enum class Tok : uint8_t {
  End,
  Ident,   // also reserved words: the parser decides where they are allowed
  Quoted,  // `field name`
  Literal,
  LParen,
  RParen,
  LBracket,
  RBracket,
  LBrace,
  RBrace,
  Dot,
  Comma,
  Colon,
  Question,
  Plus,
  Minus,
  Star,
  Slash,
  Percent,
  Not,
  AndAnd,
  OrOr,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  In,
};

struct Token {
  Tok kind = Tok::End;
  uint32_t offset = 0;
  std::string_view text;  // the source slice; of Quoted, what stands between the backticks
  Val literal;
};

// An error at a place in the source: "line 1, column 7: …" with the place as a complaint too.
Error error_at(ErrorCode code, std::string_view source, uint32_t offset,
               const std::string& message);

// Tokens end with Tok::End. The texts point into source.
Result<std::vector<Token>> tokenize(std::string_view source);

// "name", with quotes, as error messages show a token.
std::string describe(const Token& token);

}  // namespace pawl::expr
