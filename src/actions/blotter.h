// Blotter: takes secrets out of what actions answer, before any of it is stored, shown, logged or
// cut.
//
// A secret is found as it is and in the spellings that programs commonly give back: with any of its
// characters escaped as in JSON (\/, \u00e9), percent-encoded in either case, '+' for a blank or a
// blank for '+', as HTML entities, in octal, with its quotes doubled or as in a shell's; escaped as
// JSON or percent-encoded and then once more, or in base64; in lower or upper case, as a quoted
// message shows it; in hex with or without separators, in base64 of both alphabets at any alignment
// (so also within the "user:password" of basic authentication) and broken into lines; without the
// blanks around it. So are the lines of one with several and the texts in one that is JSON, if they
// are not very short. A number that is the whole of a secret counts too. Shorter than
// Spellings::kSecretBytesMin bytes it is left alone: blotting it out would take ordinary text with
// it. What a program makes of a secret in other ways (reversed, encrypted, split) is not found.
// Bytes that are no text are blotted before they are encoded for an output, since then no spelling
// is the usual one.
//
// What it costs grows as the secrets do to make one, and as the text does to search it, whatever
// they hold (spelling_search.h).
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
  // What a search cost: tests count it instead of time.
  struct Effort {
    uint64_t steps = 0;    // comparisons and bytes read
    bool gave_up = false;  // the rest of the text was blotted out without looking at it
  };

  explicit Blotter(const std::vector<expr::Secret>& secrets);

  bool empty() const { return search_.empty(); }
  std::string text(std::string_view text, Effort* effort = nullptr) const;
  // As text(), and the beginnings of secrets too, with the rest of the word that follows.
  std::string message(std::string_view text, Effort* effort = nullptr) const;
  void value(Value& value) const;

 private:
  explicit Blotter(Spellings spellings);
  std::string without(std::string_view text, bool beginnings, Effort* effort) const;

  SpellingSearch search_;
  std::vector<std::string> numbers_;  // sorted
};

}  // namespace pawl::actions
