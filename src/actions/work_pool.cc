#include "actions/work_pool.h"

#include <algorithm>

#include "base/give_way.h"
#include "base/working_on.h"

namespace pawl::actions {

WorkPool::WorkPool(uint32_t threads, size_t waiting_max, bool patient)
    : waiting_max_(waiting_max), patient_(patient) {
  for (uint32_t i = 0; i < std::max(1u, threads); ++i) threads_.emplace_back([this] { run(); });
}

WorkPool::~WorkPool() {
  std::deque<std::function<void()>> unrun;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    unrun.swap(waiting_);
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool WorkPool::add(std::function<void()> work) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_ || waiting_.size() >= waiting_max_) return false;
    waiting_.push_back(std::move(work));
  }
  changed_.notify_one();
  return true;
}

void WorkPool::add_answer(std::function<void()> work) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    waiting_.push_back(std::move(work));
  }
  changed_.notify_one();
}

void WorkPool::run() {
  WatchedThread watched;
  if (patient_) give_way();
  while (true) {
    std::function<void()> work;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (stopping_) return;
      work = std::move(waiting_.front());
      waiting_.pop_front();
    }
    work();
  }
}

}  // namespace pawl::actions
