// Post: carries messages between the partitions of a test by hand, so that a test chooses what is
// lost, repeated and late.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "kernel/testing/world.h"

namespace pawl {

class Post {
 public:
  // The world at place k is partition k.
  explicit Post(std::vector<World*> worlds) : worlds_(std::move(worlds)) {}

  // Offers one message of `from`; its events, "old", or the refusal.
  std::string offer(uint16_t from, uint16_t to, bool to_everybody, uint64_t number);
  // Offers the next message that `to` has not taken from `from`; "" if none is owed.
  std::string next(uint16_t from, uint16_t to);
  // Deletes what was taken by all it was sent to.
  void settle();
  // Until nothing is owed. Returns how many messages were taken.
  size_t carry_all();
  // Messages that are not settled, of all partitions.
  size_t unsettled() const;

 private:
  std::vector<World*> worlds_;
};

}  // namespace pawl
