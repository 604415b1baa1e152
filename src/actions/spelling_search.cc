#include "actions/spelling_search.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/ascii.h"

namespace pawl::actions {
namespace {

constexpr size_t kHeadBytes = 32;  // compared directly; the rest is hashed

std::string all_folded(std::string text, SpellingKind kind) {
  for (char& c : text) c = folded(c, kind);
  return text;
}

std::vector<std::string> take_kind(std::vector<Spelling>& spellings, SpellingKind kind) {
  std::vector<std::string> out;
  for (Spelling& spelling : spellings)
    if (spelling.kind == kind) out.push_back(std::move(spelling.bytes));
  return out;
}

std::vector<std::string> with_escapes(const std::vector<Spelling>& spellings) {
  std::vector<std::string> out;
  for (const Spelling& spelling : spellings)
    if (spelling.kind == SpellingKind::Plain &&
        spelling.bytes.find_first_of(kEscapeBeginnings) != std::string::npos)
      out.push_back(spelling.bytes);
  return out;
}

unsigned char order(char c) { return static_cast<unsigned char>(c); }

}  // namespace

SpellingSet::SpellingSet(std::vector<std::string> spellings, SpellingKind kind) : kind_(kind) {
  for (std::string& spelling : spellings) spelling = all_folded(std::move(spelling), kind);
  std::sort(spellings.begin(), spellings.end());
  spellings.erase(std::unique(spellings.begin(), spellings.end()), spellings.end());
  std::string pool;
  begins_.push_back(0);
  if (!spellings.empty()) pairs_.resize(size_t{256} * 256);
  for (const std::string& spelling : spellings) {
    pool += spelling;
    begins_.push_back(static_cast<uint32_t>(pool.size()));
    firsts_.set(order(spelling[0]));
    pairs_[pair(spelling[0], spelling[1])] = true;
  }
  pool_ = HashedText(std::move(pool));
  lows_.resize(size());
  highs_.resize(size());
  compare_neighbours(0, size());
  link();
}

// Returns the common prefix of the spelling before `low` and the one at `high`, which is the
// minimum over all neighbours in between; 0 if one of them does not exist.
uint32_t SpellingSet::compare_neighbours(size_t low, size_t high) {
  if (low < high) {
    const size_t at = middle(low, high);
    lows_[at] = compare_neighbours(low, at);
    highs_[at] = compare_neighbours(at + 1, high);
    return std::min(lows_[at], highs_[at]);
  }
  if (low == 0 || low == size()) return 0;
  const std::string_view a = (*this)[low - 1], b = (*this)[low];
  const auto different = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  return static_cast<uint32_t>(different - a.begin());
}

// In sorted order each spelling follows its prefixes. jumps_ are those of a skew-binary list: any
// number of steps takes logarithmic time.
void SpellingSet::link() {
  std::vector<uint32_t> depths;
  auto depth = [&](int32_t i) { return i == kNone ? 0 : depths[static_cast<size_t>(i)]; };
  auto jump = [&](int32_t i) { return i == kNone ? kNone : jumps_[static_cast<size_t>(i)]; };
  int32_t before = kNone;
  for (size_t i = 0; i < size(); ++i) {
    while (before != kNone && !(*this)[i].starts_with((*this)[static_cast<size_t>(before)]))
      before = prefix_of(before);
    const int32_t far = jump(before);
    const bool even =
        before != kNone && depth(before) - depth(far) == depth(far) - depth(jump(far));
    parents_.push_back(before);
    jumps_.push_back(even ? jump(far) : before);
    depths.push_back(depth(before) + 1);
    before = static_cast<int32_t>(i);
  }
}

int32_t SpellingSet::longest_within(int32_t i, size_t bytes_max, uint64_t& steps) const {
  while (bytes_of(i) > bytes_max) {
    const int32_t far = jumps_[static_cast<size_t>(i)];
    i = bytes_of(far) > bytes_max ? far : prefix_of(i);
    ++steps;
  }
  return i;
}

SpellingSearch::SpellingSearch(std::vector<Spelling> spellings)
    : mixed_(with_escapes(spellings), SpellingKind::Plain) {
  for (SpellingKind kind : {SpellingKind::Plain, SpellingKind::Hex, SpellingKind::Base64})
    sets_.emplace_back(take_kind(spellings, kind), kind);
  if (empty()) return;  // most actions have no secrets
  for (char c : kEscapeBeginnings) firsts_.set(order(c));
  for (int byte = 0; byte < 256; ++byte)
    for (const SpellingSet& set : sets_)
      if (set.begins_with(folded(static_cast<char>(byte), set.kind())))
        firsts_.set(static_cast<size_t>(byte));
}

bool SpellingSearch::empty() const {
  return std::all_of(sets_.begin(), sets_.end(),
                     [](const SpellingSet& set) { return set.size() == 0; });
}

size_t SpellingSearch::beginning_bytes_min(SpellingKind kind) {
  switch (kind) {
    case SpellingKind::Plain:
      return kBeginningBytesMin;
    case SpellingKind::Hex:
      return kBeginningBytesMin * 2;
    case SpellingKind::Base64:
      return (kBeginningBytesMin * 8 + 5) / 6;
  }
  return kBeginningBytesMin;
}

// The text decoded, folded and without separators, as read from each of its places. Two places
// inside and outside of one escape decode differently until they meet, so the decoded text consists
// of lanes: each lane begins at the first place that no lane covers and ends at a place that
// another lane covers. Parallel lanes have different next places within the length of one escape,
// and a lane can only join an older one, so a reader changes lanes at most kUnitBytesMax times.
class SpellingSearch::Scan::Decoded {
 public:
  struct Stretch {
    size_t begin;
    size_t size;
  };

  Decoded(std::string_view text, SpellingKind kind, uint64_t& steps)
      : index_(text.size()), lane_(text.size(), kNoLane) {
    std::string bytes;
    for (size_t from = 0; from < text.size(); ++from) {
      if (lane_[from] != kNoLane) continue;
      const auto lane = static_cast<uint32_t>(lanes_.size());
      size_t place = from;
      while (place < text.size() && lane_[place] == kNoLane) {
        const Unit unit = unit_at(text.substr(place));
        lane_[place] = lane;
        index_[place] = static_cast<uint32_t>(bytes.size());
        if (!may_stand_between(unit.bytes[0], kind))
          for (uint8_t i = 0; i < unit.size; ++i) {
            bytes += folded(unit.bytes[i], kind);
            places_.push_back(static_cast<uint32_t>(place));
          }
        place += unit.taken;
        ++steps;
      }
      lanes_.push_back({bytes.size(), place});
    }
    hashed_ = HashedText(std::move(bytes));
  }

  const HashedText& hashed() const { return hashed_; }
  size_t place_of(size_t index) const { return places_[index]; }

  std::vector<Stretch> from(size_t place) const {
    std::vector<Stretch> out;
    while (place < lane_.size()) {
      const Lane& lane = lanes_[lane_[place]];
      out.push_back({index_[place], lane.end - index_[place]});
      place = lane.joins;
    }
    return out;
  }

 private:
  static constexpr uint32_t kNoLane = UINT32_MAX;
  struct Lane {
    size_t end;    // of its bytes
    size_t joins;  // the place where it continues in another lane, or the end of the text
  };

  HashedText hashed_;
  std::vector<uint32_t> places_;  // the place in the text of each byte
  std::vector<uint32_t> index_;   // by place: its first byte
  std::vector<uint32_t> lane_;    // by place
  std::vector<Lane> lanes_;
};

// The decoded text from one place on.
class SpellingSearch::Scan::Reading {
 public:
  Reading(Scan& scan, size_t place, SpellingKind kind)
      : scan_(scan), place_(place), kind_(kind), next_(place) {
    while (next_ < scan.text_.size() && size_ < kHeadBytes) {
      const Unit unit = unit_at(scan.text_.substr(next_));
      next_ += unit.taken;
      ++scan.steps_;
      if (may_stand_between(unit.bytes[0], kind)) continue;
      for (uint8_t i = 0; i < unit.size; ++i, ++size_) {
        head_[size_] = folded(unit.bytes[i], kind);
        ends_[size_] = next_;
      }
    }
  }

  // The length of the common prefix with a spelling, of which `same` bytes are known.
  size_t common(const SpellingSet& set, size_t spelling, size_t same) {
    const std::string_view wanted = set[spelling];
    const size_t until = std::min(size_, wanted.size());
    while (same < until && head_[same] == wanted[same]) ++same, ++scan_.steps_;
    ++scan_.steps_;
    if (same < size_ || same == wanted.size() || is_all()) return same;
    size_t behind = 0;  // bytes in earlier stretches
    for (const auto& [begin, size] : stretches()) {
      if (same < behind + size) {
        const size_t max = std::min(behind + size, wanted.size()) - same;
        const size_t more =
            HashedText::common_prefix(scan_.decoded(kind_).hashed(), begin + same - behind,
                                      set.pool(), set.begin_of(spelling) + same, max, scan_.steps_);
        same += more;
        if (more < max || same == wanted.size()) break;
      }
      behind += size;
    }
    return same;
  }

  // As unsigned; -1 where it ends.
  int byte(size_t at) {
    if (at < size_) return order(head_[at]);
    const size_t index = index_of(at);
    return index == kEnd ? -1 : order(scan_.decoded(kind_).hashed().bytes()[index]);
  }

  // Whether byte `at` is the first of its unit, or the end.
  bool begins_unit(size_t at) {
    if (at == 0 || at == size_) return true;
    if (at < size_) return ends_[at - 1] != ends_[at];
    const size_t index = index_of(at);
    return index == kEnd ||
           scan_.decoded(kind_).place_of(index) != scan_.decoded(kind_).place_of(index_of(at - 1));
  }

  // Where in the text its first `size` bytes end.
  size_t end_of(size_t size) {
    if (size <= size_) return ends_[size - 1];
    const size_t place = scan_.decoded(kind_).place_of(index_of(size - 1));
    return place + unit_at(scan_.text_.substr(place)).taken;
  }

 private:
  static constexpr size_t kEnd = SIZE_MAX;

  bool is_all() const { return next_ == scan_.text_.size(); }

  const std::vector<Decoded::Stretch>& stretches() {
    if (stretches_.empty()) stretches_ = scan_.decoded(kind_).from(place_);
    return stretches_;
  }

  size_t index_of(size_t at) {
    if (is_all() && at >= size_) return kEnd;
    for (const auto& [begin, size] : stretches()) {
      if (at < size) return begin + at;
      at -= size;
    }
    return kEnd;
  }

  Scan& scan_;
  const size_t place_;
  const SpellingKind kind_;
  char head_[kHeadBytes + sizeof(Unit::bytes)];
  size_t ends_[kHeadBytes + sizeof(Unit::bytes)];  // end in the text of each byte's unit
  size_t size_ = 0;
  size_t next_;  // the place in the text after the head
  std::vector<Decoded::Stretch> stretches_;
};

SpellingSearch::Scan::Scan(const SpellingSearch& search, std::string_view text)
    : search_(search),
      text_(text),
      mixed_steps_left_(kMixedStepsMin + kMixedStepsPerByte * text.size()) {}

SpellingSearch::Scan::~Scan() = default;

SpellingSearch::Scan::Decoded& SpellingSearch::Scan::decoded(SpellingKind kind) {
  auto& made = decoded_[static_cast<size_t>(kind)];
  if (!made) made = std::make_unique<Decoded>(text_, kind, steps_);
  return *made;
}

void SpellingSearch::Scan::choose(Found& best, size_t taken, bool whole) {
  if (taken > best.taken || (taken == best.taken && whole)) best = {taken, whole};
}

SpellingSearch::Found SpellingSearch::Scan::at(size_t place, bool beginnings) {
  Found best;
  ++steps_;
  if (!search_.firsts_[order(text_[place])]) return best;
  here_ = unit_at(text_.substr(place));
  for (const SpellingSet& set : search_.sets_)
    if (may_begin(set, place)) read_escaped(set, place, beginnings, best);
  if (may_begin(search_.mixed_, place)) read_mixed(place, beginnings, best);
  if (gave_up()) return {text_.size() - place, true};
  return best;
}

bool SpellingSearch::Scan::may_begin(const SpellingSet& set, size_t place) const {
  const SpellingKind kind = set.kind();
  const char first = folded(text_[place], kind);
  if (!set.begins_with(first) && !set.begins_with(folded(here_.bytes[0], kind))) return false;
  // Two letters or digits are neither an escape nor a separator.
  if (place + 1 == text_.size() || !is_alphanumeric(text_[place]) ||
      !is_alphanumeric(text_[place + 1]))
    return true;
  return set.begins_with(first, folded(text_[place + 1], kind));
}

void SpellingSearch::Scan::read_escaped(const SpellingSet& set, size_t place, bool beginnings,
                                        Found& best) {
  if (may_stand_between(here_.bytes[0], set.kind())) return;
  Reading reading(*this, place, set.kind());
  // The spellings before `low` do not sort after the reading, those from `high` on do. The common
  // prefix with the nearer neighbour is not compared again (Manber, Myers).
  size_t low = 0, high = set.size(), common_low = 0, common_high = 0;
  while (low < high) {
    const size_t middle = SpellingSet::middle(low, high);
    const bool by_low = common_low >= common_high;
    const size_t known = by_low ? common_low : common_high;
    const size_t between = by_low ? set.common_with_low(middle) : set.common_with_high(middle);
    size_t common = std::min(known, between);
    bool goes_up = by_low == (between > known);  // unless that is undecided
    if (between == known) {
      common = reading.common(set, middle, known);
      const std::string_view spelling = set[middle];
      goes_up = common == spelling.size() || reading.byte(common) > order(spelling[common]);
    }
    ++steps_;
    (goes_up ? low : high) = goes_up ? middle + 1 : middle;
    (goes_up ? common_low : common_high) = common;
  }
  if (low > 0) {
    int32_t whole = set.longest_within(static_cast<int32_t>(low - 1), common_low, steps_);
    while (whole != SpellingSet::kNone &&
           !reading.begins_unit(set[static_cast<size_t>(whole)].size()))
      whole = set.prefix_of(whole), ++steps_;
    if (whole != SpellingSet::kNone)
      choose(best, reading.end_of(set[static_cast<size_t>(whole)].size()) - place, true);
  }
  if (!beginnings) return;
  size_t spelt = std::max(common_low, common_high);
  while (!reading.begins_unit(spelt)) --spelt;
  if (spelt >= beginning_bytes_min(set.kind())) choose(best, reading.end_of(spelt) - place, false);
}

// The length of the match between a spelling from byte `from` and the text from a place.
size_t SpellingSearch::Scan::common_as_it_is(size_t place, size_t spelling, size_t from) {
  const SpellingSet& set = search_.mixed_;
  const std::string_view wanted = set[spelling];
  const size_t max = std::min(wanted.size() - from, text_.size() - place);
  size_t same = 0;
  while (same < std::min(max, kHeadBytes) &&
         folded(text_[place + same], SpellingKind::Plain) == wanted[from + same])
    ++same, ++steps_;
  ++steps_;
  if (same < kHeadBytes || same == max) return same;
  if (!as_it_is_) {
    as_it_is_ = std::make_unique<HashedText>(all_folded(std::string(text_), SpellingKind::Plain));
    steps_ += text_.size();
  }
  return same + HashedText::common_prefix(*as_it_is_, place + same, set.pool(),
                                          set.begin_of(spelling) + from + same, max - same, steps_);
}

void SpellingSearch::Scan::read_mixed(size_t place, bool beginnings, Found& best) {
  const SpellingSet& set = search_.mixed_;
  // Spellings that match the text so far: a contiguous range of the list with the same prefix.
  struct Branch {
    size_t low, high;
    size_t spelt;  // bytes of them
    size_t next;   // place of the text
  };
  // Those that continue with this byte.
  auto narrow = [&](Branch& branch, char c) {
    if (branch.low < branch.high && set[branch.low].size() == branch.spelt) ++branch.low;
    auto goes_on = [&](size_t i) { return order(set[i][branch.spelt]); };
    auto first = [&](auto&& reached) {
      size_t low = branch.low, high = branch.high;
      for (; low < high; ++steps_) {
        const size_t middle = low + (high - low) / 2;
        reached(goes_on(middle)) ? high = middle : low = middle + 1;
      }
      return low;
    };
    branch.low = first([&](unsigned char byte) { return byte >= order(c); });
    branch.high = first([&](unsigned char byte) { return byte > order(c); });
    ++branch.spelt;
    return branch.low < branch.high;
  };
  // How far all of them match the text.
  auto common = [&](const Branch& branch) {
    const size_t same = common_as_it_is(branch.next, branch.low, branch.spelt);
    const size_t last = branch.high - 1;
    if (same == 0 || branch.low == last) return same;
    return HashedText::common_prefix(set.pool(), set.begin_of(branch.low) + branch.spelt,
                                     set.pool(), set.begin_of(last) + branch.spelt,
                                     std::min(same, set[last].size() - branch.spelt), steps_);
  };
  std::vector<Branch> branches{{0, set.size(), 0, place}};
  while (!branches.empty() && !gave_up()) {
    --mixed_steps_left_;
    ++steps_;
    Branch branch = branches.back();
    branches.pop_back();
    const bool whole = set[branch.low].size() == branch.spelt;
    if (whole || (beginnings && branch.spelt >= beginning_bytes_min(SpellingKind::Plain)))
      choose(best, branch.next - place, whole);
    if (whole && ++branch.low == branch.high) continue;
    if (branch.next == text_.size()) continue;
    if (size_t same = common(branch)) {
      branches.push_back({branch.low, branch.high, branch.spelt + same, branch.next + same});
      continue;
    }
    const char c = folded(text_[branch.next], SpellingKind::Plain);
    if (Branch as_it_is = branch; narrow(as_it_is, c)) {
      ++as_it_is.next;
      branches.push_back(as_it_is);
    }
    const Unit unit = escaped(text_.substr(branch.next));
    if (unit.taken == 0 || folded(unit.bytes[0], SpellingKind::Plain) == c) continue;
    bool goes_on = true;
    for (uint8_t i = 0; i < unit.size && goes_on; ++i)
      goes_on = narrow(branch, folded(unit.bytes[i], SpellingKind::Plain));
    branch.next += unit.taken;
    if (goes_on) branches.push_back(branch);
  }
}

}  // namespace pawl::actions
