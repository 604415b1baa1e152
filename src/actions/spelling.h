// The spellings of secrets: what a text is searched for so that a secret is found in it.
//
// Escaped characters are not spelled out here: the search reads them as what they stand for
// (spelling_search.h). A spelling that is itself escaped is there for the text that escapes twice.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "expr/template/secret.h"

namespace pawl::actions {

enum class SpellingKind : uint8_t { Plain, Hex, Base64 };
constexpr size_t kSpellingKinds = 3;

struct Spelling {
  std::string bytes;  // at least kSecretBytesMin
  SpellingKind kind;
};

struct Spellings {
  static constexpr size_t kSecretBytesMin = 3;
  static constexpr size_t kEncodedBytesMin = 6;  // of an encoded or partial one
  static constexpr size_t kNumberBytesMin = 4;

  std::vector<Spelling> texts;       // in no order, some of them twice
  std::vector<std::string> numbers;  // as JSON writes them, sorted
};

Spellings spellings_of(const std::vector<expr::Secret>& secrets);

// A byte as it counts in a comparison: hex digits have no case, '-' and '_' are base64 too, and
// forms write '+' for a blank, which careless programs read back as a blank in place of a '+'.
char folded(char c, SpellingKind kind);
// Whether it may stand between the digits of a spelling: encoded bytes are broken into lines, and
// hex into groups.
bool may_stand_between(char c, SpellingKind kind);

}  // namespace pawl::actions
