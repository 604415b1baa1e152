#include "api/turns.h"

#include <utility>

namespace pawl::api {

bool Turns::enter(Visit visit) {
  {
    const std::lock_guard lock(mutex_);
    if (at_work_ < kAtOnce) return ++at_work_, true;
    if (waiting_.size() < kWaitingMax) {
      waiting_.push_back(std::move(visit));
      return false;
    }
  }
  visit.turn_away({ErrorCode::Overloaded, "too many lists are waiting; try again shortly"});
  return false;
}

void Turns::leave() {
  while (true) {
    Visit next;
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.empty()) {
        --at_work_;
        return;
      }
      next = std::move(waiting_.front());
      waiting_.pop_front();
    }
    const Status submitted = engine_.submit(next.task);
    if (submitted.ok()) return;
    next.turn_away(submitted.error());
  }
}

size_t Turns::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

}  // namespace pawl::api
