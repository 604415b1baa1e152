// A reference for Blotter that tries every spelling at every place, for tests and the fuzzer. Takes
// time proportional to texts times secrets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "actions/spelling.h"

namespace pawl::actions {

class BlotterReference {
 public:
  explicit BlotterReference(const std::vector<expr::Secret>& secrets);

  std::string without(std::string_view text, bool beginnings) const;

 private:
  struct Match {
    size_t spelt = 0;  // matched bytes of the spelling
    size_t taken = 0;  // matching bytes of the text
  };

  // `escapes`: every possible escape is decoded; otherwise it is taken literally, as long as that
  // matches.
  static Match match(std::string_view text, size_t at, const Spelling& spelling, bool escapes);

  size_t find_at(std::string_view text, size_t at, bool beginnings) const;

  std::vector<Spelling> spellings_;
};

}  // namespace pawl::actions
