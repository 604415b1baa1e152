// OutboxBell: tells the courier of a partition that its outbox has new messages, once they are
// durable. It is made before the engine that rings it and the courier that answers it, and outlives
// both.
//
// Threads: any.
#pragma once

#include <functional>
#include <mutex>
#include <utility>

namespace pawl {

class OutboxBell {
 public:
  // Must not wait. The call may come from the committing thread.
  void ring() {
    std::lock_guard lock(mutex_);
    if (answer_) answer_();
  }
  // Nobody answers after answer_with({}) has returned.
  void answer_with(std::function<void()> answer) {
    std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
  }

 private:
  std::mutex mutex_;
  std::function<void()> answer_;  // guarded by mutex_
};

}  // namespace pawl
