// Inbox: messages to the link thread. A burst of them costs one wake, as http::Mailbox.
#pragma once

#include <sys/socket.h>

#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "link/links.h"

namespace pawl::link {

class OngoingCall;

namespace message {
struct TakeCall {
  Peer peer;
  std::shared_ptr<OngoingCall> call;
};
struct CancelCall {
  std::shared_ptr<OngoingCall> call;
};
struct DropPeer {
  std::string incarnation;
};
struct FoundAddresses {
  std::string peer_key;
  std::vector<sockaddr_storage> addresses;  // none: the name is unknown
};
struct StopLoop {};
}  // namespace message

using LinkMessage = std::variant<message::TakeCall, message::CancelCall, message::DropPeer,
                                 message::FoundAddresses, message::StopLoop>;

class Inbox {
 public:
  explicit Inbox(int event_fd) : event_fd_(event_fd) {}
  Inbox& operator=(Inbox&&) = delete;
  ~Inbox();

  // Moves all of them in; the link thread finds them in one round. False, and they are untouched,
  // after close().
  bool push_all(std::vector<LinkMessage>& messages);
  bool push(LinkMessage&& message);

  // Link thread. prepare_sleep() is false if messages wait.
  void take(std::vector<LinkMessage>& into);
  bool prepare_sleep();
  std::vector<LinkMessage> close();
  int event_fd() const { return event_fd_; }  // watched edge-triggered, never read

 private:
  void wake();

  const int event_fd_;
  std::mutex mutex_;
  std::vector<LinkMessage> messages_;  // guarded by mutex_
  bool sleeping_ = false;              // guarded by mutex_
  bool closed_ = false;                // guarded by mutex_
};

}  // namespace pawl::link
