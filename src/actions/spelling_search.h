// SpellingSearch: finds spellings of secrets in a text.
//
// From each place the text is read in two ways: with every escape decoded, or with an escape taken
// literally where the spelling continues with its first character. Any part of a secret may be
// escaped. The longest spelling of both is the result. Digits of hex and base64 may be separated.
//
// The cost is linear in the text for any contents, except for logarithms:
// - The first reading does not depend on the spellings. From any place it is a few stretches of one
//   decoded text (Reading), so that the place of it among the sorted spellings is found by hashes.
// - The second matters only for spellings that hold a character that may begin an escape. It runs
//   through their sorted list as through a tree, long stretches by hashes; but each escape is a
//   step of its own, and an adversary may have as many of them as a secret is long, at every place.
//  So a text has kMixedStepsPerByte of them for each of its bytes. Past that, the rest of the text
// counts as found, so that no secret is revealed because it is expensive to find.
//
// SpellingSearch is immutable, for any thread; a Scan is for one text and one thread. Proof:
// blotter_test.cc, and blotter_fuzz.cc, which compares with a search that tries everything.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "actions/hashed_text.h"
#include "actions/spelling.h"
#include "actions/unescape.h"

namespace pawl::actions {

// Spellings of one kind, folded, sorted and concatenated.
class SpellingSet {
 public:
  static constexpr int32_t kNone = -1;

  SpellingSet(std::vector<std::string> spellings, SpellingKind kind);

  SpellingKind kind() const { return kind_; }
  size_t size() const { return begins_.size() - 1; }
  std::string_view operator[](size_t i) const {
    return pool_.bytes().substr(begins_[i], begins_[i + 1] - begins_[i]);
  }
  const HashedText& pool() const { return pool_; }
  size_t begin_of(size_t i) const { return begins_[i]; }
  // For the binary search: the common prefix of the middle of [low, high) with the spelling before
  // `low`, and with the one at `high`.
  size_t common_with_low(size_t middle) const { return lows_[middle]; }
  size_t common_with_high(size_t middle) const { return highs_[middle]; }
  static size_t middle(size_t low, size_t high) { return low + (high - low) / 2; }
  // Whether a spelling begins with this folded byte.
  bool begins_with(char c) const { return firsts_[static_cast<unsigned char>(c)]; }
  bool begins_with(char c, char next) const { return pairs_[pair(c, next)]; }
  // The longest one of at most `bytes_max` that is spelling i or begins it; kNone if there is none.
  int32_t longest_within(int32_t i, size_t bytes_max, uint64_t& steps) const;
  int32_t prefix_of(int32_t i) const { return parents_[static_cast<size_t>(i)]; }

 private:
  static size_t pair(char c, char next) {
    return static_cast<size_t>(static_cast<unsigned char>(c)) << 8 |
           static_cast<unsigned char>(next);
  }
  void link();
  uint32_t compare_neighbours(size_t low, size_t high);
  size_t bytes_of(int32_t i) const {
    return i == kNone ? 0 : (*this)[static_cast<size_t>(i)].size();
  }

  SpellingKind kind_;
  HashedText pool_;
  std::vector<uint32_t> begins_;  // and the end of the last
  std::bitset<256> firsts_;
  std::vector<bool> pairs_;
  std::vector<uint32_t> lows_, highs_;  // see common_with_low()
  std::vector<int32_t> parents_;        // the longest other spelling that is a prefix of this one
  std::vector<int32_t> jumps_;          // some steps of parents_ at once
};

class SpellingSearch {
 public:
  static constexpr uint64_t kMixedStepsPerByte = 16;
  static constexpr uint64_t kMixedStepsMin = 4096;

  explicit SpellingSearch(std::vector<Spelling> spellings);

  bool empty() const;

  struct Found {
    size_t taken = 0;   // bytes of the text; 0 = nothing
    bool whole = true;  // a complete spelling, not only its beginning
  };
  class Scan;

  // Messages quote and cut their input: a beginning of this length counts as the whole. For an
  // encoded spelling, the length that encodes this many bytes of the secret.
  static constexpr size_t kBeginningBytesMin = 8;
  static size_t beginning_bytes_min(SpellingKind kind);

 private:
  std::vector<SpellingSet> sets_;  // one of each kind
  SpellingSet mixed_;              // the plain spellings with a character that may begin an escape
  std::bitset<256> firsts_;        // bytes that may begin a spelling
};

class SpellingSearch::Scan {
 public:
  Scan(const SpellingSearch& search, std::string_view text);
  ~Scan();
  Scan& operator=(Scan&&) = delete;

  // The longest spelling that begins here. `beginnings`: also if only its beginning matches.
  Found at(size_t place, bool beginnings);
  uint64_t steps() const { return steps_; }  // comparisons and bytes read, up to now
  bool gave_up() const { return mixed_steps_left_ == 0; }

 private:
  class Decoded;
  class Reading;

  static void choose(Found& best, size_t taken, bool whole);
  void read_escaped(const SpellingSet& set, size_t place, bool beginnings, Found& best);
  void read_mixed(size_t place, bool beginnings, Found& best);
  bool may_begin(const SpellingSet& set, size_t place) const;
  size_t common_as_it_is(size_t place, size_t spelling, size_t from);
  Decoded& decoded(SpellingKind kind);

  const SpellingSearch& search_;
  const std::string_view text_;
  Unit here_;                                                     // at the current place
  std::array<std::unique_ptr<Decoded>, kSpellingKinds> decoded_;  // made when it is needed
  std::unique_ptr<HashedText> as_it_is_;                          // likewise
  uint64_t steps_ = 0;
  uint64_t mixed_steps_left_;
};

}  // namespace pawl::actions
