#include "expr/text_search.h"

#include <cstring>

namespace pawl::expr {
namespace {

// Knuth, Morris and Pratt: for each beginning of the part, its longest end that is a beginning too.
// at(i) is the part's i-th byte, so that the same code reads a part from its end.
std::vector<uint32_t> borders_of(size_t size, auto at) {
  std::vector<uint32_t> borders(size);
  uint32_t border = 0;
  for (size_t i = 1; i < size; ++i) {
    while (border > 0 && at(i) != at(border)) border = borders[border - 1];
    if (at(i) == at(border)) ++border;
    borders[i] = border;
  }
  return borders;
}

}  // namespace

// glibc's memmem is the two-way algorithm for long parts, and bounded by 256 comparisons of one
// vector each for short ones: linear in the worst case, and faster than that in every other.
size_t find_part(std::string_view text, std::string_view part, size_t from) {
  if (from > text.size()) return kNoPlace;
  if (part.empty()) return from;
  const void* const found =
      ::memmem(text.data() + from, text.size() - from, part.data(), part.size());
  if (found == nullptr) return kNoPlace;
  return static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

bool has_part(std::string_view text, std::string_view part) {
  return find_part(text, part) != kNoPlace;
}

size_t find_last_part(std::string_view text, std::string_view part, size_t from) {
  if (part.size() > text.size()) return kNoPlace;
  size_t last = text.size() - part.size();  // where the last one could begin
  if (from < last) last = from;
  if (part.empty()) return last;
  text = text.substr(0, last + part.size());
  const size_t size = part.size();
  const auto at = [&](size_t i) { return part[size - 1 - i]; };
  const std::vector<uint32_t> borders = borders_of(size, at);
  size_t matched = 0;
  for (size_t i = text.size(); i > 0; --i) {
    const char c = text[i - 1];
    while (matched > 0 && at(matched) != c) matched = borders[matched - 1];
    if (at(matched) == c) ++matched;
    if (matched == size) return i - 1;
  }
  return kNoPlace;
}

Places::Places(std::string_view text, std::string_view part)
    : text_(text),
      part_(part),
      borders_(borders_of(part.size(), [&](size_t i) { return part[i]; })) {}

size_t Places::next() {
  while (at_ < text_.size()) {
    const char c = text_[at_++];
    while (matched_ > 0 && (matched_ == part_.size() || part_[matched_] != c))
      matched_ = borders_[matched_ - 1];
    if (part_[matched_] == c) ++matched_;
    if (matched_ == part_.size()) return at_ - matched_;
  }
  return kNoPlace;
}

}  // namespace pawl::expr
