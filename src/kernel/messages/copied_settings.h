// Settings are decided at partition 0 and copied into every journal by messages.
//
// Partition 0 of several sends each setting that a decision emits to everybody: Frame calls
// copy_setting() for each event that has an overload here, so no decision can forget it. A receiver
// emits the same event in the frame that takes the message.
//
// Not copied, since each partition has its own: the cursor of webhooks, which is a place in the
// partition's journal; that a deleted queue is used again; limits of a key whose home is partition
// 0, since all its jobs are there. Schedules, also those of definitions' triggers, are at partition
// 0 only. A job that brings a rate for its queue sets it where it is created, and partition 0 tells
// the others (share_queue_rate()).
//
// Thread: that of the state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "journal/events.h"
#include "kernel/messages/message.h"

namespace pawl {

class Frame;

void copy_setting(Frame& frame, const DocPut& event);
void copy_setting(Frame& frame, const DocDeleted& event);
void copy_setting(Frame& frame, const QueueConfigured& event);
void copy_setting(Frame& frame, const LimitConfigured& event);

void take_copied_doc(Frame& frame, const DocPut& event);
void take_copied_deletion(Frame& frame, const DocDeleted& event);
void take_copied_queue(Frame& frame, const QueueConfigured& event);
void take_copied_limit(Frame& frame, const LimitConfigured& event);

// The message that a push at another partition than 0 sends.
struct SharedQueueRate {
  std::string queue;
  uint32_t rate_per_second = 0;

  static void fields(auto& self, auto&& visit) {
    visit(1, "queue", self.queue);
    visit(2, "rate_per_second", self.rate_per_second);
  }
};
// A push has set the rate of its queue.
void share_queue_rate(Frame& frame, const QueueConfigured& event);
void take_queue_rate(Frame& frame, const SharedQueueRate& rate);

// Which setting a message brings; nothing if it brings none, or one of a queue or limit.
struct CopiedDoc {
  DocKind kind = DocKind::None;
  std::string key;
};
std::optional<CopiedDoc> copied_doc(const Message& message);

}  // namespace pawl
