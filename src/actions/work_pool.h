// WorkPool: a few threads for work that may block, with a bounded queue in front of them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace pawl::actions {

class WorkPool {
 public:
  // `patient`: its threads have a lower priority (base/give_way.h).
  WorkPool(uint32_t threads, size_t waiting_max, bool patient = false);
  // Waits for running work; waiting work is dropped.
  ~WorkPool();
  WorkPool& operator=(WorkPool&&) = delete;

  // False if the queue is full.
  bool add(std::function<void()> work);
  // Also if the queue is full: for finished work whose answer must be delivered.
  void add_answer(std::function<void()> work);

 private:
  void run();

  const size_t waiting_max_;
  const bool patient_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;  // guarded by mutex_
  bool stopping_ = false;                      // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace pawl::actions
