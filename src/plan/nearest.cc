#include "plan/nearest.h"

#include <algorithm>
#include <array>
#include <vector>

namespace pawl::plan {
namespace {

constexpr size_t kLengthMax = 40;
constexpr size_t kCandidatesMax = 500;

// Changes, insertions, removals and swaps of neighbours that turn one into the other.
size_t distance(std::string_view a, std::string_view b) {
  using Row = std::array<size_t, kLengthMax + 1>;
  Row before{};
  Row last{};
  Row row{};
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = a[i - 1] == b[j - 1];
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before = last;
    last = row;
  }
  return last[b.size()];
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '-') c = '_';
  }
  return out;
}

}  // namespace

std::string_view nearest(std::string_view name, std::span<const std::string_view> candidates) {
  if (name.empty() || name.size() > kLengthMax) return {};
  const std::string wanted = lower(name);
  size_t best = std::max<size_t>(1, name.size() / 3) + 1;
  std::string_view found;
  for (const std::string_view candidate :
       candidates.first(std::min(candidates.size(), kCandidatesMax))) {
    if (candidate.size() > kLengthMax) continue;
    const size_t difference = candidate.size() > name.size() ? candidate.size() - name.size()
                                                             : name.size() - candidate.size();
    if (difference >= best) continue;
    const size_t apart = distance(wanted, lower(candidate));
    if (apart < best && apart < candidate.size()) {
      best = apart;
      found = candidate;
    }
  }
  return found;
}

std::string meant(std::string_view name, std::span<const std::string_view> candidates) {
  const std::string_view found = nearest(name, candidates);
  return found.empty() ? "" : "did you mean '" + std::string(found) + "'?";
}

}  // namespace pawl::plan
