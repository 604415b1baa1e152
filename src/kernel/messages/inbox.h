// The inbox of a partition: one counter for each sender, and one for what that sender tells
// everybody (DocKind::Mail). A message does its work in the frame that counts it.
//
// Thread: that of the state.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "kernel/messages/message.h"

namespace pawl {

class Frame;
class State;

// The number of the last message that was taken from this sender; `to` is this partition, or
// kEverybody.
uint64_t last_taken(const State& state, uint16_t from, uint16_t to);

// Does the work of the message and counts it, if it is the next one: true. One that was taken
// already does nothing: false. Conflict if messages between are missing, Corrupt if it cannot be
// read: nothing was emitted, and it must come again.
Result<bool> take_message(Frame& frame, const MessageHead& head, const Message& message);

}  // namespace pawl
