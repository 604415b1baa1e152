// ProgramCache: compiled expressions by their text, the least recently used ones forgotten first.
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
#include "expr/program.h"

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
  using Order = std::list<std::shared_ptr<const Program>>;  // most recently used first

  void insert(const std::shared_ptr<const Program>& program);

  const CompileOptions options_;
  const Limits limits_;
  mutable std::mutex mutex_;
  Order order_;
  std::unordered_map<std::string_view, Order::iterator> index_;  // keys point into the programs
  Stats stats_;
};

}  // namespace pawl::expr
