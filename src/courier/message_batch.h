// What couriers carry: messages of one partition to another, and how far the receiver is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/codec.h"

namespace pawl {

struct BatchedMessage {
  bool to_everybody = false;
  uint64_t number = 0;
  std::string message;  // Message, encoded

  static void fields(auto& self, auto&& visit) {
    visit(1, "to_everybody", self.to_everybody);
    visit(2, "number", self.number);
    visit(3, "message", self.message);
  }
};

struct MessageBatch {
  uint16_t from = 0;
  std::vector<BatchedMessage> messages;  // each stream in the order of its numbers

  static void fields(auto& self, auto&& visit) {
    visit(1, "from", self.from);
    visit(2, "messages", self.messages);
  }
};

// The receiver's counters after a batch. They are durable.
struct BatchAnswer {
  uint64_t taken = 0;               // of those to this receiver alone
  uint64_t taken_of_everybody = 0;  // of those to everybody
  std::string refusal;              // why not all of the batch were taken; "" if they were

  static void fields(auto& self, auto&& visit) {
    visit(1, "taken", self.taken);
    visit(2, "taken_of_everybody", self.taken_of_everybody);
    visit(3, "refusal", self.refusal);
  }
};

}  // namespace pawl
