// ScriptCache: compiled definitions of runs, kept while there is room.
//
// Every compiled definition in memory is in the cache, also while runs hold it: so its size is the
// total of all. A compiled definition is about ten times as large as its text. The least recently
// used is evicted first. The contents change no answer.
//
// Thread: the engine thread of the partition, only.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "plan/script.h"

namespace pawl {

class ScriptCache {
 public:
  explicit ScriptCache(size_t bytes_max) : bytes_max_(bytes_max) {}

  // Null if the text cannot be compiled.
  std::shared_ptr<const plan::Script> get(const std::string& canonical);

  bool too_large() const { return bytes_ > bytes_max_ || entries_.size() > kEntriesMax; }
  // Makes room. Call when no result of get() is in use.
  void trim();
  size_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kEntriesMax = 4'096;

  struct Entry {
    std::string canonical;
    std::shared_ptr<const plan::Script> plan;
    size_t bytes = 0;
  };

  size_t bytes_max_;
  size_t bytes_ = 0;
  std::list<Entry> entries_;                                        // most recently asked for first
  std::map<std::string_view, std::list<Entry>::iterator> by_text_;  // keys point into the entries
};

}  // namespace pawl
