// Slots: the unanswered requests of one connection in order of arrival. A ring whose entries keep
// their buffers, so that a steady connection allocates nothing here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "http/mailbox.h"
#include "http/responder.h"

namespace pawl::http {

struct Slot {
  enum class State : unsigned char { Waiting, Answered, Streaming };

  State state = State::Waiting;
  bool head_only = false;  // HEAD
  bool http10 = false;
  bool accepts_gzip = false;
  bool stream_head_sent = false;
  bool stream_ended = false;
  uint64_t started_us = 0;
  size_t in_bytes = 0;                 // the request's body
  size_t held_bytes = 0;               // of its answer, not yet in the connection's OutQueue
  const std::string* lines = nullptr;  // of its Verdict
  std::string id;
  std::string method;  // these two only for the access log
  std::string path;
  Response response;
  std::shared_ptr<StreamState> stream;
  std::string held;  // framed stream bytes not yet in the connection's OutQueue
  std::function<void()> watch;
};

class Slots {
 public:
  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  Slot& front() { return ring_[first_]; }
  Slot& at(size_t index) { return ring_[(first_ + index) & (ring_.size() - 1)]; }

  // A fresh slot at the end. Invalidates references to slots.
  Slot& push() {
    if (count_ == ring_.size()) grow();
    ++count_;
    return at(count_ - 1);
  }

  void pop() {
    Slot& slot = front();
    slot.state = Slot::State::Waiting;
    slot.head_only = slot.http10 = slot.accepts_gzip = false;
    slot.stream_head_sent = slot.stream_ended = false;
    slot.in_bytes = 0;
    slot.lines = nullptr;
    slot.id.clear();
    slot.method.clear();
    slot.path.clear();
    slot.response = Response{};
    slot.stream.reset();
    std::string{}.swap(slot.held);
    slot.watch = nullptr;
    first_ = (first_ + 1) & (ring_.size() - 1);
    --count_;
  }

 private:
  void grow() {
    std::vector<Slot> larger(ring_.empty() ? 1 : ring_.size() * 2);
    for (size_t i = 0; i < count_; ++i) larger[i] = std::move(at(i));
    ring_ = std::move(larger);
    first_ = 0;
  }

  std::vector<Slot> ring_;  // a power of two
  size_t first_ = 0;
  size_t count_ = 0;
};

}  // namespace pawl::http
