#include "link/inbox.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "link/ongoing_call.h"

namespace pawl::link {

Inbox::~Inbox() { ::close(event_fd_); }

bool Inbox::push(LinkMessage&& message) {
  std::vector<LinkMessage> one;
  one.push_back(std::move(message));
  return push_all(one);
}

bool Inbox::push_all(std::vector<LinkMessage>& messages) {
  bool must_wake = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return false;
    if (messages_.empty()) {
      messages_ = std::move(messages);
    } else {
      std::move(messages.begin(), messages.end(), std::back_inserter(messages_));
    }
    must_wake = std::exchange(sleeping_, false);
  }
  if (must_wake) wake();
  return true;
}

void Inbox::wake() {
  const uint64_t one = 1;
  PAWL_CHECK(::write(event_fd_, &one, sizeof one) == sizeof one);
}

void Inbox::take(std::vector<LinkMessage>& into) {
  into.clear();
  const std::lock_guard lock(mutex_);
  sleeping_ = false;
  std::swap(into, messages_);
}

bool Inbox::prepare_sleep() {
  const std::lock_guard lock(mutex_);
  sleeping_ = messages_.empty();
  return sleeping_;
}

std::vector<LinkMessage> Inbox::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  return std::exchange(messages_, {});
}

}  // namespace pawl::link
