// The spellings of secrets that a text is searched for.
//
// Escaped characters are not listed here: the search decodes them (spelling_search.h). An escaped
// spelling is for texts that are escaped twice.
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
  static constexpr size_t kEncodedBytesMin = 6;  // of an encoded or partial spelling
  static constexpr size_t kNumberBytesMin = 4;

  std::vector<Spelling> texts;       // unsorted, with duplicates
  std::vector<std::string> numbers;  // as JSON writes them, sorted
};

Spellings spellings_of(const std::vector<expr::Secret>& secrets);

// A byte normalized for comparison: hex digits have no case, '-' and '_' are base64 too, and forms
// write '+' for a blank, which some programs read back as a blank for a '+'.
char folded(char c, SpellingKind kind);
// Whether it may separate the digits of a spelling: encoded bytes are broken into lines, and
// hex into groups.
bool may_stand_between(char c, SpellingKind kind);

}  // namespace pawl::actions
