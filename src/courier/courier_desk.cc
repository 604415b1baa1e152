#include "courier/courier_desk.h"

#include <future>
#include <utility>

namespace pawl {

void DeskInbox::post(Work work) {
  {
    std::lock_guard lock(mutex_);
    if (closed_) return;
    now_.push_back(std::move(work));
  }
  wakes_.notify_one();
}

void DeskInbox::post_at(Time at, Work work) {
  {
    std::lock_guard lock(mutex_);
    if (closed_) return;
    later_.emplace(at, std::move(work));
  }
  wakes_.notify_one();
}

DeskInbox::Work DeskInbox::take() {
  std::unique_lock lock(mutex_);
  while (true) {
    if (closed_) return {};
    if (!later_.empty() && later_.begin()->first <= std::chrono::steady_clock::now()) {
      Work due = std::move(later_.begin()->second);
      later_.erase(later_.begin());
      return due;
    }
    if (!now_.empty()) {
      Work next = std::move(now_.front());
      now_.pop_front();
      return next;
    }
    if (later_.empty()) {
      wakes_.wait(lock);
    } else {
      wakes_.wait_until(lock, Time(later_.begin()->first));
    }
  }
}

void DeskInbox::close() {
  std::deque<Work> dropped;
  std::multimap<Time, Work> dropped_later;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    dropped.swap(now_);  // destroyed outside the lock: they may hold anything
    dropped_later.swap(later_);
  }
  wakes_.notify_one();
}

CourierDesk::CourierDesk() : inbox_(std::make_shared<DeskInbox>()) {
  thread_ = std::thread([inbox = inbox_] {
    while (DeskInbox::Work work = inbox->take()) work();
  });
}

CourierDesk::~CourierDesk() {
  inbox_->close();
  thread_.join();
}

void CourierDesk::run(const std::function<void()>& work) {
  std::promise<void> done;
  inbox_->post([&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

}  // namespace pawl
