// ReaderPool: a few threads for requests that read much of the store and must delay neither the I/O
// threads nor the engine. At most waiting_max wait; the next is refused.
//
// Thread: any. stop() (and the destructor) waits for running work, drops waiting work and joins;
// dropped work is destroyed on the stopping thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.h"

namespace pawl::api {

class ReaderPool {
 public:
  explicit ReaderPool(size_t threads = 2, size_t waiting_max = 256);
  ReaderPool& operator=(ReaderPool&&) = delete;
  ~ReaderPool();

  // Overloaded when too many wait, Unavailable after stop(): then the work was not taken.
  Status run(std::function<void()>& work);
  void stop();

 private:
  void serve();

  const size_t waiting_max_;
  std::mutex mutex_;
  std::condition_variable wakes_;
  std::deque<std::function<void()>> waiting_;  // guarded by mutex_
  bool stopping_ = false;                      // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace pawl::api
