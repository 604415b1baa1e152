// The outbox of a partition: its messages that their receivers have not all taken yet, in documents
// (DocKind::Outbox), and how many it has sent to whom (DocKind::Mail).
//
// Thread: that of the state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/function_ref.h"
#include "kernel/messages/message.h"

namespace pawl {

class Frame;
class State;

// Numbers the message and keeps it until it is settled. `to` is another partition, or kEverybody.
void send_message(Frame& frame, uint16_t to, const Message& message);

// Those up to this number were taken: deletes at most `at_most` of them. Returns how many.
size_t settle_messages(Frame& frame, uint16_t to, uint64_t upto, size_t at_most);

// The number of the last message to this receiver; 0 = none was sent.
uint64_t last_sent(const State& state, uint16_t to);

// The number of the oldest one that is not settled; last_sent() + 1 if all are.
uint64_t first_unsettled(const State& state, uint16_t to);

// Those that are not settled, from this number on, encoded, in order, at most `limit`.
void each_unsettled(const State& state, uint16_t to, uint64_t from, size_t limit,
                    FunctionRef<bool(uint64_t number, std::string_view message)> visit);

}  // namespace pawl
