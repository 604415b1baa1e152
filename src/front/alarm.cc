#include "front/alarm.h"

#include <utility>

namespace pawl::front {

void Alarm::stop() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wakes_.notify_all();
  if (thread_.joinable()) thread_.join();
}

uint64_t Alarm::at(Time when, std::function<void()> call) {
  std::lock_guard lock(mutex_);
  const uint64_t id = ++ids_;
  const bool is_next = calls_.empty() || when < calls_.begin()->first.first;
  calls_.emplace(std::pair(when, id), std::move(call));
  times_.emplace(id, when);
  if (is_next) wakes_.notify_all();
  return id;
}

void Alarm::cancel(uint64_t id) {
  std::function<void()> dropped;  // destroyed outside of the lock
  std::lock_guard lock(mutex_);
  const auto found = times_.find(id);
  if (found == times_.end()) return;
  const auto call = calls_.find(std::pair(found->second, id));
  dropped = std::move(call->second);
  calls_.erase(call);
  times_.erase(found);
}

void Alarm::run() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (calls_.empty()) {
      wakes_.wait(lock);
      continue;
    }
    const auto next = calls_.begin();
    if (std::chrono::steady_clock::now() < next->first.first) {
      wakes_.wait_until(lock, next->first.first);
      continue;
    }
    std::function<void()> call = std::move(next->second);
    times_.erase(next->first.second);
    calls_.erase(next);
    lock.unlock();
    call();
    call = nullptr;
    lock.lock();
  }
}

}  // namespace pawl::front
