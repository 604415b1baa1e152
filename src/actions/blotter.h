// Blotter: takes secrets out of what actions answer, before any of it is stored, shown or logged.
//
// A secret is found as it is and in the spellings that programs commonly give back: as the inside
// of a JSON string, in one case, percent-encoded, in hex, in base64 at any alignment (so also
// within the "user:password" of basic authentication), without the blanks around it, and each
// longer line of one with several. A number that is the whole of a secret counts too. Shorter than
// kSecretBytesMin bytes it is left alone: blotting it out would take ordinary text with it. What a
// program makes of a secret in other ways (reversed, encrypted, split) is not found.
//
// Immutable; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "expr/template.h"

namespace pawl::actions {

class Blotter {
 public:
  static constexpr size_t kSecretBytesMin = 3;
  static constexpr size_t kSpellingBytesMin = 6;  // of an encoded or partial one
  static constexpr size_t kNumberBytesMin = 4;

  explicit Blotter(const std::vector<expr::Secret>& secrets);

  bool empty() const { return spellings_.empty(); }
  std::string text(std::string_view text) const;
  void value(Value& value) const;

 private:
  void add_secret(std::string_view secret);
  void add_spelling(std::string spelling, size_t bytes_min);

  std::vector<expr::Secret> spellings_;
  std::vector<std::string> numbers_;
};

}  // namespace pawl::actions
