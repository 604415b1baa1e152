// Blotter: takes secrets out of what actions answer, before any of it is stored, shown, logged or
// cut.
//
// A secret is found as it is and in the spellings that programs commonly give back: with any of its
// characters escaped as in JSON (\/, \u00e9), percent-encoded in either case, '+' for a blank, as
// HTML entities, in octal, with its quotes doubled or as in a shell's; escaped as JSON or
// percent-encoded and then once more, or in base64; in lower or upper case, as a quoted message
// shows it; in hex with or without separators, in base64 of both alphabets at any alignment (so
// also within the "user:password" of basic authentication) and broken into lines; without the
// blanks around it. So are the lines of one with several and the texts in one that is JSON, if they
// are not very short. A number that is the whole of a secret counts too. Shorter than
// kSecretBytesMin bytes it is left alone: blotting it out would take ordinary text with it. What a
// program makes of a secret in other ways (reversed, encrypted, split) is not found. Bytes that are
// no text are blotted before they are encoded for an output, since then no spelling is the usual
// one.
//
// Immutable; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "expr/secret.h"

namespace pawl::actions {

class Blotter {
 public:
  static constexpr size_t kSecretBytesMin = 3;
  static constexpr size_t kSpellingBytesMin = 6;  // of an encoded or partial one
  static constexpr size_t kNumberBytesMin = 4;
  // Messages quote what they were given, and cut it: so much of a beginning counts as the whole.
  static constexpr size_t kBeginningBytesMin = 8;

  explicit Blotter(const std::vector<expr::Secret>& secrets);

  bool empty() const { return spellings_.empty(); }
  std::string text(std::string_view text) const;
  // As text(), and the beginnings of secrets too, with the rest of the word that follows.
  std::string message(std::string_view text) const;
  void value(Value& value) const;

 private:
  enum class Kind : uint8_t { Plain, Hex, Base64 };
  struct Spelling {
    std::string bytes;
    Kind kind;
  };
  struct Match;

  void add_secret(std::string_view secret);
  void add_lines(std::string_view text);
  void add_texts(const Value& value);
  void index();
  void add_spelling(std::string spelling, size_t bytes_min, Kind kind = Kind::Plain);
  static size_t beginning_bytes_min(Kind kind);
  static Match match(std::string_view text, size_t at, const Spelling& spelling, bool escapes);
  size_t find_at(std::string_view text, size_t at, bool beginnings) const;
  std::string without(std::string_view text, bool beginnings) const;

  std::vector<Spelling> spellings_;
  std::vector<std::vector<size_t>> beginning_with_;  // by the first byte, as a text may have it
  std::vector<std::string> numbers_;
};

}  // namespace pawl::actions
