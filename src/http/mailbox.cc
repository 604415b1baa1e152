#include "http/mailbox.h"

#include <unistd.h>

#include <utility>

#include "base/check.h"

namespace pawl::http {

Mailbox::Mailbox(int event_fd, size_t stream_bytes_max)
    : event_fd_(event_fd), stream_bytes_max_(stream_bytes_max) {}

Mailbox::~Mailbox() { ::close(event_fd_); }

bool Mailbox::push(Message&& message, Wakes* wakes) {
  bool must_wake = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return false;
    messages_.push_back(std::move(message));
    if (wakes == nullptr) must_wake = std::exchange(sleeping_, false);
  }
  if (must_wake) wake();
  if (wakes != nullptr) wakes->owe(shared_from_this());
  return true;
}

void Mailbox::wake_if_sleeping() {
  bool must_wake = false;
  {
    const std::lock_guard lock(mutex_);
    must_wake = std::exchange(sleeping_, false);
  }
  if (must_wake) wake();
}

// The eventfd is watched edge-triggered and never read: each write is one event.
void Mailbox::wake() {
  wakes_.fetch_add(1, std::memory_order_relaxed);
  const uint64_t one = 1;
  const ssize_t written = ::write(event_fd_, &one, sizeof one);
  PAWL_CHECK(written == sizeof one);
}

void Mailbox::take(std::vector<Message>& into) {
  into.clear();
  const std::lock_guard lock(mutex_);
  sleeping_ = false;
  std::swap(into, messages_);
}

bool Mailbox::prepare_sleep() {
  const std::lock_guard lock(mutex_);
  sleeping_ = messages_.empty();
  return sleeping_;
}

void Mailbox::close() {
  std::vector<Message> dropped;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    std::swap(dropped, messages_);
  }
  for (const Message& message : dropped) {
    if (const auto* adopt = std::get_if<message::Adopt>(&message.content)) ::close(adopt->fd);
  }
}

}  // namespace pawl::http
