#include "link/replay_guard.h"

#include <algorithm>

namespace pawl::link {

bool ReplayGuard::take(std::string_view incarnation, uint64_t counter) {
  const std::lock_guard lock(mutex_);
  Sender* sender = hear(incarnation);
  return sender != nullptr && take_from(*sender, counter);
}

ReplayGuard::Sender* ReplayGuard::hear(std::string_view incarnation) {
  if (const auto found = heard_.find(incarnation); found != heard_.end()) {
    senders_.splice(senders_.begin(), senders_, found->second);
    return &senders_.front();
  }
  if (former_.contains(incarnation) || former_.size() + heard_.size() >= kSendersMax)
    return nullptr;
  if (heard_.size() == kHeardMax) {
    heard_.erase(senders_.back().incarnation);
    former_.insert(std::move(senders_.back().incarnation));
    senders_.pop_back();
  }
  senders_.emplace_front().incarnation = incarnation;
  heard_.emplace(incarnation, senders_.begin());
  return &senders_.front();
}

// taken[] speaks of the kWindow counters up to the highest.
bool ReplayGuard::take_from(Sender& sender, uint64_t counter) {
  if (counter > sender.highest) {
    const uint64_t passed_over = std::min(counter - sender.highest, kWindow);
    for (uint64_t i = 0; i < passed_over; ++i) sender.taken[(counter - i) % kWindow] = false;
    sender.highest = counter;
  } else if (sender.highest - counter >= kWindow || sender.taken[counter % kWindow]) {
    return false;
  }
  sender.taken[counter % kWindow] = true;
  return true;
}

}  // namespace pawl::link
