// Deadlines of connections.
//
// Each kind has one fixed delay, so a list in order of arming is a list in order of time: arming,
// disarming and finding the next one cost a few pointer writes, whatever the number of connections.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace pawl::http {

class Connection;

enum class DeadlineKind : unsigned char { Idle, Head, Body, Write, Linger, None };

struct Deadline {
  explicit Deadline(Connection* connection) : owner(connection) {}
  Deadline& operator=(Deadline&&) = delete;

  Connection* const owner;
  DeadlineKind kind = DeadlineKind::None;  // None: not armed
  int64_t at_ms = 0;
  Deadline* previous = nullptr;
  Deadline* next = nullptr;
};

class Deadlines {
 public:
  static constexpr size_t kKinds = static_cast<size_t>(DeadlineKind::None);

  void set_delay(DeadlineKind kind, int64_t delay_ms) { list(kind).delay_ms = delay_ms; }

  void arm(Deadline& deadline, DeadlineKind kind, int64_t now_ms) {
    disarm(deadline);
    List& target = list(kind);
    deadline.kind = kind;
    deadline.at_ms = now_ms + target.delay_ms;
    deadline.previous = target.last;
    deadline.next = nullptr;
    (target.last != nullptr ? target.last->next : target.first) = &deadline;
    target.last = &deadline;
  }

  void disarm(Deadline& deadline) {
    if (deadline.kind == DeadlineKind::None) return;
    List& source = list(deadline.kind);
    (deadline.previous != nullptr ? deadline.previous->next : source.first) = deadline.next;
    (deadline.next != nullptr ? deadline.next->previous : source.last) = deadline.previous;
    deadline.kind = DeadlineKind::None;
  }

  // A deadline that has passed, or null.
  Deadline* due(int64_t now_ms) const {
    for (const List& candidate : lists_) {
      if (candidate.first != nullptr && candidate.first->at_ms <= now_ms) return candidate.first;
    }
    return nullptr;
  }

  // Milliseconds until the next one, -1 without any: what epoll_wait takes.
  int wait_ms(int64_t now_ms) const {
    int64_t next = -1;
    for (const List& candidate : lists_) {
      if (candidate.first == nullptr) continue;
      const int64_t left = candidate.first->at_ms > now_ms ? candidate.first->at_ms - now_ms : 0;
      if (next < 0 || left < next) next = left;
    }
    return next > kWaitMsMax ? kWaitMsMax : static_cast<int>(next);
  }

 private:
  static constexpr int kWaitMsMax = 1'000'000'000;

  struct List {
    int64_t delay_ms = 0;
    Deadline* first = nullptr;
    Deadline* last = nullptr;
  };
  List& list(DeadlineKind kind) { return lists_[static_cast<size_t>(kind)]; }

  std::array<List, kKinds> lists_;
};

}  // namespace pawl::http
