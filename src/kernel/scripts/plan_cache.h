// PlanCache: definitions that runs follow, compiled once and kept while there is room.
//
// Every compiled definition that is in memory is in here, also while runs hold on to it: so its size
// is what all of them take. Compiled, a definition is about ten times as large as its text. What was
// asked for longest ago is forgotten first. What happens to be in here changes no answer.
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

class PlanCache {
 public:
  explicit PlanCache(size_t bytes_max) : bytes_max_(bytes_max) {}

  // Null if the text cannot be compiled.
  std::shared_ptr<const plan::Script> get(const std::string& canonical);

  bool too_large() const { return bytes_ > bytes_max_ || entries_.size() > kEntriesMax; }
  // Makes room. Call when nobody holds on to what get() gave.
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
  std::list<Entry> entries_;  // most recently asked for first
  std::map<std::string_view, std::list<Entry>::iterator> by_text_;  // keys point into the entries
};

}  // namespace pawl
