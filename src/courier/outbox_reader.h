// Reads and settles the outbox of a partition on its engine.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/task.h"

namespace pawl {

// What one receiver has taken, of each of its streams.
struct ReceiverMarks {
  uint16_t to = 0;
  uint64_t taken = 0;
  uint64_t taken_of_everybody = 0;
};

struct OwedBatch {
  uint16_t to = 0;
  std::string bytes;  // MessageBatch, encoded
};

struct OutboxReading {
  std::vector<OwedBatch> batches;        // for receivers that are owed something
  std::map<uint16_t, uint64_t> sent;     // receiver, or kEverybody → number of the last message
  std::map<uint16_t, uint64_t> settled;  // likewise: all up to this number were taken
};

struct BatchBounds {
  size_t bytes_max = 256u << 10;  // past this no further message is added
  size_t messages_max = 512;
};

// Reads what is owed to these receivers behind their marks; without receivers, what is settled. It
// only reads, and gives what is durable.
TaskPtr outbox_reading_task(std::vector<ReceiverMarks> receivers, const BatchBounds& bounds,
                            std::function<void(Result<OutboxReading>)> done);

// Deletes what was taken: upto of each receiver, which may be kEverybody. At most some hundreds in
// one frame; says whether all are done.
struct SettledUpto {
  uint16_t to = 0;
  uint64_t upto = 0;
};
TaskPtr settling_task(std::vector<SettledUpto> settled, std::function<void(Result<bool>)> done);

}  // namespace pawl
