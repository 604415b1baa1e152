// ItemCache: the items of one world that were used last, so that a step of a hot instance reads
// nothing from the engine. It caches what the engine's state holds: code that writes items to the
// state puts them here too.
//
// Thread: the worker that has the world at the time.
#pragma once

#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace pawl {

class ItemCache {
 public:
  explicit ItemCache(size_t bytes_max) : bytes_max_(bytes_max) {}

  // Null if it is not known; else what is there, nullopt if it is known that there is no such item.
  const std::optional<std::string>* find(std::string_view key) {
    auto at = index_.find(key);
    if (at == index_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, at->second);
    return &at->second->value;
  }
  void put(std::string_view key, std::optional<std::string> value) {
    auto at = index_.find(key);
    if (at != index_.end()) {
      bytes_ -= bytes_of(*at->second);
      at->second->value = std::move(value);
      bytes_ += bytes_of(*at->second);
      entries_.splice(entries_.begin(), entries_, at->second);
      return;
    }
    entries_.push_front({std::string(key), std::move(value)});
    index_.emplace(entries_.front().key, entries_.begin());
    bytes_ += bytes_of(entries_.front());
  }
  // Drops what was not used for longest. Call between batches: what a batch has read stays until
  // its end.
  void evict() {
    while (bytes_ > bytes_max_ && !entries_.empty()) {
      bytes_ -= bytes_of(entries_.back());
      index_.erase(entries_.back().key);
      entries_.pop_back();
    }
  }
  size_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kPerEntry = 160;  // list, index and string heads
  struct Entry {
    std::string key;
    std::optional<std::string> value;
  };
  using Entries = std::list<Entry>;
  using Index = std::unordered_map<std::string_view, Entries::iterator>;

 public:
  // Empties it. Freeing what it held takes time: the caller does it where nobody waits.
  struct Contents {
    Index index;
    Entries entries;
  };
  Contents take() {
    bytes_ = 0;
    return {std::exchange(index_, {}), std::exchange(entries_, {})};
  }
  void clear() { take(); }

 private:
  static size_t bytes_of(const Entry& entry) {
    return kPerEntry + entry.key.size() + (entry.value ? entry.value->size() : 0);
  }

  const size_t bytes_max_;
  size_t bytes_ = 0;
  Entries entries_;  // last used first
  Index index_;
};

}  // namespace pawl
