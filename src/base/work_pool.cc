#include "base/work_pool.h"

#include <algorithm>
#include <exception>

#include "base/give_way.h"
#include "base/log.h"

namespace pawl {

WorkPool::WorkPool(const WorkPoolOptions& options) : options_(options) {
  for (size_t i = 0; i < std::max<size_t>(1, options_.threads); ++i)
    threads_.emplace_back([this] { serve(); });
}

WorkPool::~WorkPool() { stop(); }

Status WorkPool::run(std::function<void()>& work, std::string_view lane) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return Error{ErrorCode::Unavailable, "the server is stopping"};
    const std::string name(options_.name);
    if (waiting_ >= options_.waiting_max)
      return Error{ErrorCode::Overloaded, "too many " + name + " are waiting; try again shortly"};
    Lanes::iterator at = find_or_add(lane);
    if (at->waiting.size() >= options_.lane_waiting_max)
      return Error{ErrorCode::RateLimited,
                   "too many " + name + " of this client are waiting; try again shortly"};
    at->waiting.push_back(std::move(work));
    ++waiting_;
  }
  wakes_.notify_one();
  return ok_status();
}

void WorkPool::stop() {
  Lanes dropped;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    // Lanes are not erased: running work still refers to its lane.
    for (Lane& lane : lanes_) {
      dropped.emplace_back();
      dropped.back().waiting.swap(lane.waiting);
    }
    waiting_ = 0;
  }
  wakes_.notify_all();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

size_t WorkPool::waiting() const {
  std::lock_guard lock(mutex_);
  return waiting_;
}

WorkPool::Lanes::iterator WorkPool::find_or_add(std::string_view lane) {
  if (auto found = index_.find(lane); found != index_.end()) return found->second;
  lanes_.push_back({std::string(lane), {}, 0});
  auto added = std::prev(lanes_.end());
  index_.emplace(added->name, added);
  return added;
}

WorkPool::Lanes::iterator WorkPool::next_lane() {
  return std::find_if(lanes_.begin(), lanes_.end(), [this](const Lane& lane) {
    return !lane.waiting.empty() && lane.running < options_.lane_running_max;
  });
}

void WorkPool::drop_if_idle(Lanes::iterator lane) {
  if (lane->running > 0 || !lane->waiting.empty()) return;
  index_.erase(lane->name);
  lanes_.erase(lane);
}

void WorkPool::serve() {
  if (options_.background) give_way();
  std::unique_lock lock(mutex_);
  while (true) {
    Lanes::iterator lane = lanes_.end();
    wakes_.wait(lock, [&] {
      lane = next_lane();
      return stopping_ || lane != lanes_.end();
    });
    if (stopping_) return;
    std::function<void()> work = std::move(lane->waiting.front());
    lane->waiting.pop_front();
    --waiting_;
    ++lane->running;
    lanes_.splice(lanes_.end(), lanes_, lane);  // its next turn comes after all others
    lock.unlock();
    try {
      work();
    } catch (const std::exception& thrown) {  // its request is answered with 500
      log::error("a piece of work failed inside the server",
                 {{"pool", std::string(options_.name)}, {"why", thrown.what()}});
    }
    work = nullptr;  // destroys what it holds before the lock is taken
    lock.lock();
    --lane->running;
    drop_if_idle(lane);
    // No wake-up needed: this thread itself finds the work that this lane may now run.
  }
}

}  // namespace pawl
