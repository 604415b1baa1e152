// SpillIndex: an ordered index of which only the near end is in memory.
//
// Every live entry is in exactly one of three places: the window (all entries up to the horizon),
// fresh (beyond the horizon and not yet on disk), or on disk only (beyond the horizon). Without a
// horizon everything is in the window. So memory is bounded by the window plus what is not flushed
// yet, whatever the backlog.
//
// The results never depend on the place of an entry: spilling and refilling are invisible (checked
// against a plain std::set in spill_index_test.cc).
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <vector>

#include "base/check.h"

namespace pawl {

template <class Key>
class SpillIndex {
 public:
  explicit SpillIndex(size_t window_max) : window_max_(window_max) {}

  void insert(const Key& key) {
    if (in_window(key)) {
      window_.insert(window_.end(), key);
    } else {
      fresh_.insert(fresh_.end(), key);
    }
  }
  // Also works for an entry that is on disk only: its row is removed with its entity's next flush.
  void erase(const Key& key) { (in_window(key) ? window_ : fresh_).erase(key); }

  // The entry's row has become durable: beyond the horizon it needs no memory any more.
  void settled(const Key& key) {
    if (!in_window(key)) fresh_.erase(key);
  }

  // read(after, limit, emit): calls emit(key) for up to limit live entries on disk with key >
  // *after (all, if after is empty) in order, and returns whether it reached the end. on_disk(key):
  // whether that entry has a durable row.
  const Key* front(auto&& read) {
    while (window_.empty() && horizon_) refill(read);
    return window_.empty() ? nullptr : &*window_.begin();
  }
  const Key* next_after(const Key& key, auto&& read) {
    while (true) {
      auto at = window_.upper_bound(key);
      if (at != window_.end()) return &*at;
      if (!horizon_) return nullptr;
      refill(read);
    }
  }

  bool too_large() const { return window_.size() > window_max_; }
  void shrink(auto&& on_disk) {
    auto cut = window_.begin();
    std::advance(cut, window_max_ / 2);
    for (auto at = cut; at != window_.end(); ++at)
      if (!on_disk(*at)) fresh_.insert(*at);
    window_.erase(cut, window_.end());
    horizon_ = *window_.rbegin();
  }

  // At start everything may be on disk: nothing is known yet.
  void forget_all() {
    window_.clear();
    fresh_.clear();
    unknown_ = true;
    horizon_.emplace();
  }
  size_t resident() const { return window_.size() + fresh_.size(); }

 private:
  bool in_window(const Key& key) const { return !horizon_ || (!unknown_ && !(*horizon_ < key)); }

  void refill(auto&& read) {
    std::vector<Key> found;
    size_t limit = window_max_ / 2 + 1;
    std::optional<Key> after = unknown_ ? std::nullopt : horizon_;
    std::optional<Key> last;
    bool at_end = read(after, limit, [&](const Key& key, bool live) {
      if (live) found.push_back(key);
      last = key;
    });
    unknown_ = false;
    if (at_end) {
      horizon_.reset();
    } else {
      PAWL_CHECK(last);
      horizon_ = last;
    }
    for (const Key& key : found) window_.insert(window_.end(), key);
    while (!fresh_.empty() && in_window(*fresh_.begin()))
      window_.insert(fresh_.extract(fresh_.begin()));
  }

  size_t window_max_;
  std::set<Key> window_;
  std::set<Key> fresh_;
  std::optional<Key> horizon_;  // the last key that the window covers; none: it covers all
  bool unknown_ = false;        // nothing is covered yet, horizon_ has no meaning
};

}  // namespace pawl
