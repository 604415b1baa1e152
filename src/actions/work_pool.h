// WorkPool: a few threads for work that may block, and a bounded line in front of them.
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
  // `patient`: its threads give way to others (base/give_way.h).
  WorkPool(uint32_t threads, size_t waiting_max, bool patient = false);
  // Waits for what runs; what still waits in line is thrown away unrun.
  ~WorkPool();
  WorkPool(const WorkPool&) = delete;
  WorkPool& operator=(const WorkPool&) = delete;

  // False if the line is full.
  bool add(std::function<void()> work);
  // Even if it is full: what is done already, and only has to be told.
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
