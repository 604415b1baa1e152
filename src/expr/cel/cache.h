// ProgramCache: compiled expressions by their text; evicts the least recently used first.
//
// Programs that were requested only once may hold a quarter of the room and are evicted first
// beyond that: a flood of texts that are used once does not evict the ones in use.
//
// Bounded by entries and by bytes. Failures are not kept: they are rare, and their text is the
// caller's. Thread: any. Two threads that miss the same text at once compile it twice; one result
// stays.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "expr/cel/program.h"

namespace pawl::expr {

class ProgramCache {
 public:
  struct Limits {
    size_t entries_max = 4096;
    size_t bytes_max = 64u << 20;
  };

  explicit ProgramCache(CompileOptions options = CompileOptions::workflow())
      : ProgramCache(std::move(options), Limits{}) {}
  ProgramCache(CompileOptions options, const Limits& limits)
      : options_(std::move(options)), limits_(limits) {}

  Result<std::shared_ptr<const Program>> get(std::string_view source);

  struct Stats {
    size_t entries = 0;
    size_t bytes = 0;
    uint64_t hits = 0;
    uint64_t misses = 0;
  };
  Stats stats() const;

 private:
  struct Entry {
    std::shared_ptr<const Program> program;
    bool kept = false;  // requested again
  };
  using Order = std::list<Entry>;  // most recently used first
  struct Segment {
    Order order;
    size_t bytes = 0;
  };

  void insert(const std::shared_ptr<const Program>& program);
  Segment& segment_of(const Entry& entry) { return entry.kept ? kept_ : new_; }
  void promote(Order::iterator entry);
  void trim();
  void forget_last(Segment& segment);

  const CompileOptions options_;
  const Limits limits_;
  mutable std::mutex mutex_;
  Segment new_;                                                  // guarded by mutex_
  Segment kept_;                                                 // guarded by mutex_
  std::unordered_map<std::string_view, Order::iterator> index_;  // keys point into the programs
  Stats stats_;
};

}  // namespace pawl::expr
