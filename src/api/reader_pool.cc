#include "api/reader_pool.h"

#include <exception>

#include "base/log.h"

namespace pawl::api {

ReaderPool::ReaderPool(size_t threads, size_t waiting_max) : waiting_max_(waiting_max) {
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { serve(); });
}

ReaderPool::~ReaderPool() { stop(); }

Status ReaderPool::run(std::function<void()>& work) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return Error{ErrorCode::Unavailable, "the server is stopping"};
    if (waiting_.size() >= waiting_max_)
      return Error{ErrorCode::Overloaded, "too many reads are waiting; try again shortly"};
    waiting_.push_back(std::move(work));
  }
  wakes_.notify_one();
  return ok_status();
}

void ReaderPool::stop() {
  std::deque<std::function<void()>> dropped;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped.swap(waiting_);
  }
  wakes_.notify_all();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

void ReaderPool::serve() {
  while (true) {
    std::function<void()> work;
    {
      std::unique_lock lock(mutex_);
      wakes_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      work = std::move(waiting_.front());
      waiting_.pop_front();
    }
    try {
      work();
    } catch (const std::exception& thrown) {  // its request is answered with 500
      log::error("a read failed inside the server", {{"why", thrown.what()}});
    }
  }
}

}  // namespace pawl::api
