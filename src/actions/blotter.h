// Blotter: masks secrets in the answers of actions, before anything is stored, shown, logged or
// cut.
//
// A secret is found as plain text and in the spellings that programs commonly produce: with any of
// its characters escaped as in JSON (\/, \u00e9), percent-encoded in either case, '+' for a blank
// or a blank for '+', as HTML entities, in octal, with its quotes doubled or escaped for a shell;
// escaped as JSON or percent-encoded and then once more, or in base64; in lower or upper case, as a
// quoted message shows it; in hex with or without separators, in base64 of both alphabets at any
// alignment (so also within the "user:password" of basic authentication) and broken into lines;
// without surrounding blanks. The lines of a multi-line secret and the texts in a JSON secret are
// found too, if they are not very short, and a number that equals a secret. Secrets shorter than
// Spellings::kSecretBytesMin bytes are not masked: that would mask ordinary text too. Other forms
// (reversed, encrypted, split) are not found. Binary data is searched before it is encoded for an
// output, since no usual spelling would match afterwards.
//
// Construction takes time proportional to the secrets, and a search time proportional to the text,
// for any contents (spelling_search.h).
//
// Immutable; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "actions/spelling.h"
#include "actions/spelling_search.h"
#include "base/value.h"
#include "expr/template/secret.h"

namespace pawl::actions {

class Blotter {
 public:
  // The cost of a search: tests count it instead of time.
  struct Effort {
    uint64_t steps = 0;    // comparisons and bytes read
    bool gave_up = false;  // the rest of the text was masked without a search
  };

  explicit Blotter(const std::vector<expr::Secret>& secrets);

  bool empty() const { return search_.empty(); }
  std::string text(std::string_view text, Effort* effort = nullptr) const;
  // As text(), but also masks beginnings of secrets, with the rest of the word.
  std::string message(std::string_view text, Effort* effort = nullptr) const;
  void value(Value& value) const;

 private:
  explicit Blotter(Spellings spellings);
  std::string without(std::string_view text, bool beginnings, Effort* effort) const;

  SpellingSearch search_;
  std::vector<std::string> numbers_;  // sorted
};

}  // namespace pawl::actions
