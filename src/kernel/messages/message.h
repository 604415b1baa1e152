// Message: what one partition tells another, or all others. It is written to the sender's outbox in
// the frame that causes it, and does its work in the receiver in the frame that counts it: so each
// does its work once, whatever is sent again (outbox.h, inbox.h).
//
// Thread: pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/codec.h"

namespace pawl {

// The receiver that stands for all other partitions.
inline constexpr uint16_t kEverybody = 0xffff;

// The numbers are part of the format on disk. The body is an encoded record of the type named.
enum class MessageKind : uint8_t {
  None = 0,
  DocPut = 1,           // DocPut: a setting, see copied_settings.h; as the next three
  DocDeleted = 2,       // DocDeleted
  QueueConfigured = 3,  // QueueConfigured
  LimitConfigured = 4,  // LimitConfigured
  QueueRate = 5,        // SharedQueueRate, to partition 0
  Place = 6,            // NewJob: a job whose home is the receiver, see placing.h
  Began = 7,            // MemberBegan
  Ended = 8,            // MemberEnded
  Cancel = 9,           // MemberCancelled
  Revive = 10,          // MemberRevived
  Claim = 11,           // AskedClaim, see claims.h
  Granted = 12,         // AnsweredClaim
  Refused = 13,         // likewise
  Release = 14,         // ReleasedClaim
};

struct Message {
  MessageKind kind = MessageKind::None;
  std::string body;

  static void fields(auto& self, auto&& visit) {
    visit(1, "kind", self.kind);
    visit(2, "body", self.body);
  }
};

template <codec::Record Body>
Message message_of(MessageKind kind, const Body& body) {
  return {kind, codec::encoded(body)};
}

// Where a message comes from and goes to, and its number among those from this sender to this
// receiver; messages to everybody have numbers of their own.
struct MessageHead {
  uint16_t from = 0;
  uint16_t to = 0;
  uint64_t number = 0;
};

}  // namespace pawl
