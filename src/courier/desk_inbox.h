// DeskInbox: work for the thread of a CourierDesk, now or at a time. It may outlive the desk; what
// is posted after that is dropped.
//
// Threads: any; take() from the desk's.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>

namespace pawl {

class DeskInbox {
 public:
  using Work = std::function<void()>;
  using Time = std::chrono::steady_clock::time_point;

  void post(Work work);
  void post_at(Time at, Work work);
  // Waits for the next work; empty once closed.
  Work take();
  void close();

 private:
  std::mutex mutex_;
  std::condition_variable wakes_;
  std::deque<Work> now_;             // guarded by mutex_
  std::multimap<Time, Work> later_;  // guarded by mutex_
  bool closed_ = false;              // guarded by mutex_
};

}  // namespace pawl
