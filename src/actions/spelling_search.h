// SpellingSearch: where in a text a spelling of a secret stands.
//
// A place of the text is read in two ways, each from there on: with every escape taken as what it
// stands for, or with an escape taken as it is wherever the spelling goes on with its first
// character. What is escaped may be any part of it. The longest spelling that one of them gives is
// what is found. Between the digits of hex and base64 separators may stand.
//
// The cost is linear in the text, whatever it and the spellings hold, but for logarithms:
// - The first reading does not depend on the spellings. From any place it is a few stretches of one
//   decoded text (Reading), so that the place of it among the sorted spellings is found by hashes.
// - The second matters only for spellings that hold a character that may begin an escape. It runs
//   through their sorted list as through a tree, long stretches by hashes; but each escape is a
//   step of its own, and an adversary may have as many of them as a secret is long, at every place.
//   So a text has kMixedStepsPerByte of them for each of its bytes. Past that, all the rest of the
//   text counts as found: no secret is told because it is dear to find.
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

// Spellings of one kind, folded and sorted; the text of all of them is one.
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
  // For a search that halves the list: what the middle one of [low, high) has in common with the
  // one before `low`, and with the one at `high`.
  size_t common_with_low(size_t middle) const { return lows_[middle]; }
  size_t common_with_high(size_t middle) const { return highs_[middle]; }
  static size_t middle(size_t low, size_t high) { return low + (high - low) / 2; }
  // Whether one may begin so, as folded.
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
  std::vector<int32_t> parents_;        // the longest other one that begins this one
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
    bool whole = true;  // not the beginning of a spelling only
  };
  class Scan;

  // Messages quote what they were given, and cut it: so much of a beginning counts as the whole.
  // Encoded, so that it says as many bytes of the secret.
  static constexpr size_t kBeginningBytesMin = 8;
  static size_t beginning_bytes_min(SpellingKind kind);

 private:
  std::vector<SpellingSet> sets_;  // one of each kind
  SpellingSet mixed_;              // the plain ones that hold what may begin an escape
  std::bitset<256> firsts_;        // bytes of a text that something may begin with
};

class SpellingSearch::Scan {
 public:
  Scan(const SpellingSearch& search, std::string_view text);
  ~Scan();
  Scan(const Scan&) = delete;
  Scan& operator=(const Scan&) = delete;

  // The longest that begins here. `beginnings`: also if only the beginning of it is there.
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
  Unit here_;                                                     // at the place that is looked at
  std::array<std::unique_ptr<Decoded>, kSpellingKinds> decoded_;  // made when it is needed
  std::unique_ptr<HashedText> as_it_is_;                          // likewise
  uint64_t steps_ = 0;
  uint64_t mixed_steps_left_;
};

}  // namespace pawl::actions
