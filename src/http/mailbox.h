// Mailbox: messages from other threads to connections. One per I/O thread; many senders, one
// reader.
//
// A sender writes the eventfd only if the reader sleeps and has not been woken yet, so a burst of
// answers costs one wake. After close() messages are dropped (and destroyed on the sender's
// thread).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "base/wakes.h"
#include "http/gzip.h"
#include "http/in_budget.h"
#include "http/responder.h"

namespace pawl::http {

class Connection;
class Mailbox;

// The part of a connection that other threads may hold. It outlives the connection.
struct Link {
  Link(std::shared_ptr<Mailbox> box, std::shared_ptr<InBudget> in_budget)
      : mailbox(std::move(box)), in_charge(std::move(in_budget)) {}

  const std::shared_ptr<Mailbox> mailbox;
  std::atomic<bool> gone{false};     // the client closed its side, or the connection ended
  Connection* connection = nullptr;  // I/O thread only; null once the connection ended
  InCharge in_charge;  // I/O thread only; outlives the connection, like requests being handled
};

struct StreamState {
  explicit StreamState(size_t limit) : bytes_max(limit) {}

  const size_t bytes_max;
  std::atomic<size_t> unsent{0};    // bytes between write() and the socket, framing included
  std::atomic<bool> closed{false};  // write() refuses from now on
};

namespace message {
struct Answer {
  Response response;
};
struct Unanswered {};
struct StreamStart {
  Response head;
  std::shared_ptr<StreamState> state;
};
struct StreamChunk {
  std::string bytes;
  size_t charged;  // what write() added to StreamState::unsent
};
struct StreamEnd {};
struct StreamOverflow {};
struct Watch {  // on_disconnect, on_close
  std::function<void()> callback;
};
struct Adopt {  // a socket accepted by another I/O thread
  int fd;
  std::string peer;
};
struct Inflated {  // a decompressed body, from another thread
  InflateFault fault;
  std::string plain;
  InCharge charge;  // for it
};
struct Drain {};
struct Stop {};
}  // namespace message

struct Message {
  using Content =
      std::variant<message::Answer, message::Unanswered, message::StreamStart, message::StreamChunk,
                   message::StreamEnd, message::StreamOverflow, message::Watch, message::Adopt,
                   message::Inflated, message::Drain, message::Stop>;

  std::shared_ptr<Link> link;  // null for Adopt, Drain, Stop
  uint64_t sequence = 0;       // which request of the connection
  Content content;
};

class Mailbox : public Sleeper, public std::enable_shared_from_this<Mailbox> {
 public:
  // Owns event_fd.
  Mailbox(int event_fd, size_t stream_bytes_max);
  Mailbox& operator=(Mailbox&&) = delete;
  ~Mailbox() override;

  // Any thread. False if closed: the message was not taken (an Adopt must then close its socket).
  // With `wakes` the reader is woken when that ends.
  bool push(Message&& message, Wakes* wakes = nullptr);
  void wake_if_sleeping() override;
  bool is_read_here() const { return reader_.load() == std::this_thread::get_id(); }

  // Reader only. begin_reading() comes first. prepare_sleep() is false if messages wait; until it
  // or take() is called again a sender may write the eventfd.
  void begin_reading() { reader_.store(std::this_thread::get_id()); }
  void take(std::vector<Message>& into);
  bool prepare_sleep();
  void close();

  int event_fd() const { return event_fd_; }
  uint64_t wakes() const { return wakes_.load(std::memory_order_relaxed); }
  size_t stream_bytes_max() const { return stream_bytes_max_; }

 private:
  void wake();

  const int event_fd_;
  const size_t stream_bytes_max_;
  std::atomic<std::thread::id> reader_{};
  std::mutex mutex_;
  std::vector<Message> messages_;
  bool sleeping_ = false;
  bool closed_ = false;
  std::atomic<uint64_t> wakes_{0};
};

}  // namespace pawl::http
