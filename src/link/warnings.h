// Warnings: what an operator should know of the links, for GET /v1/cluster. Each text once, with
// how often it came; at most kMax texts, the latest. A text that has not come again for `kept` is
// left out. Thread: any.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <vector>

namespace pawl::link {

class Warnings {
 public:
  static constexpr size_t kMax = 32;

  explicit Warnings(std::chrono::seconds kept = std::chrono::minutes(10)) : kept_(kept) {}

  void add(std::string text);             // new ones go to the log, too
  std::vector<std::string> list() const;  // "TEXT (N times)", the latest first

 private:
  struct Entry {
    std::string text;
    uint64_t times = 0;
    std::chrono::steady_clock::time_point last = {};
  };

  const std::chrono::seconds kept_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // guarded by mutex_; the latest first
};

}  // namespace pawl::link
