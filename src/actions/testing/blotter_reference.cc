#include "actions/testing/blotter_reference.h"

#include <algorithm>

#include "actions/spelling_search.h"
#include "actions/unescape.h"

namespace pawl::actions {

BlotterReference::BlotterReference(const std::vector<expr::Secret>& secrets)
    : spellings_(spellings_of(secrets).texts) {}

std::string BlotterReference::without(std::string_view text, bool beginnings) const {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t taken = find_at(text, at, beginnings);
    if (taken == 0) {
      out += text[at++];
    } else {
      out += "***";
      at += taken;
    }
  }
  return out;
}

BlotterReference::Match BlotterReference::match(std::string_view text, size_t at,
                                                const Spelling& spelling, bool escapes) {
  const std::string& wanted = spelling.bytes;
  auto fits = [&](size_t i, char c) {
    return folded(c, spelling.kind) == folded(wanted[i], spelling.kind);
  };
  Match done;
  size_t here = at;
  while (done.spelt < wanted.size() && here < text.size()) {
    const bool as_it_is = fits(done.spelt, text[here]) && !escapes;
    Unit unit = unit_at(as_it_is ? text.substr(here, 1) : text.substr(here));
    size_t fitting = 0;
    while (fitting < unit.size && done.spelt + fitting < wanted.size() &&
           fits(done.spelt + fitting, unit.bytes[fitting]))
      ++fitting;
    if (fitting == unit.size) {
      done.spelt += fitting;
    } else if (done.spelt == 0 || !may_stand_between(unit.bytes[0], spelling.kind)) {
      break;
    }
    here += unit.taken;
    if (fitting == unit.size) done.taken = here - at;
  }
  return done;
}

size_t BlotterReference::find_at(std::string_view text, size_t at, bool beginnings) const {
  size_t most = 0;
  bool whole = true;
  for (const Spelling& spelling : spellings_)
    for (bool escapes : {false, true}) {
      const Match found = match(text, at, spelling, escapes);
      const bool all = found.spelt == spelling.bytes.size();
      const bool enough =
          all || (beginnings && found.spelt >= SpellingSearch::beginning_bytes_min(spelling.kind));
      if (!enough || found.taken < most || (found.taken == most && whole)) continue;
      most = found.taken;
      whole = all;
    }
  if (whole) return most;
  return std::min(text.find_first_of("\"' \t\r\n", at + most), text.size()) - at;
}

}  // namespace pawl::actions
