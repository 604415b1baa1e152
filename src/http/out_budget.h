// OutBudget: answer bytes that wait in memory for clients, over all connections of a server.
//
// The unsent bytes of one connection are bounded, but there are thousands of connections. Once all
// together hold more than bytes_max, no more requests are read from connections with unsent bytes,
// and connections above their share that do not read are cut (IoThread::watch_budget).
//
// Thread: any. It is updated once a round for each connection that changed, so it may be exceeded
// by answers given meanwhile.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace pawl::http {

class OutBudget {
 public:
  void limit(size_t bytes_max) { bytes_max_ = bytes_max; }  // before the threads run

  // One connection held `before` bytes and now holds `after`.
  void change(size_t before, size_t after) {
    unsent_.fetch_add(after - before, std::memory_order_relaxed);  // wraps: a sum of differences
    if (before == 0) holders_.fetch_add(1, std::memory_order_relaxed);
    if (after == 0) holders_.fetch_sub(1, std::memory_order_relaxed);
  }

  bool over() const { return unsent() > bytes_max_; }
  size_t unsent() const { return unsent_.load(std::memory_order_relaxed); }

  // The share of each connection with unsent bytes. If the budget is exceeded, some connection
  // holds more.
  size_t share() const {
    return bytes_max_ / std::max<size_t>(holders_.load(std::memory_order_relaxed), 1);
  }

 private:
  size_t bytes_max_ = 0;
  std::atomic<size_t> unsent_{0};
  std::atomic<size_t> holders_{0};
};

}  // namespace pawl::http
