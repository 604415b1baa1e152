// Task: one request inside the engine. The engine knows no commands: a task decides by calling the
// kernel, and keeps its answer until its batch is durable.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/uuid.h"
#include "base/wakes.h"

namespace pawl {

class Frame;

// How a task that found nothing to do waits.
struct Parking {
  std::vector<std::string>
      queues;               // scoped names; a job becoming available in one of them wakes the task
  int64_t until_ms = 0;     // then it must answer
  int64_t retry_at_ms = 0;  // try again at this time in any case (a rate limit ends); 0 = none
};

// The name under which a task waits for a run to end or to be suspended.
std::string parking_of(const RunId& run);

class Task {
 public:
  virtual ~Task() = default;

  // Engine thread. Reads the state, emits what happens, prepares the answer. Returning a Parking
  // means: call again; events emitted so far stay and become durable without waiting for the
  // answer. `last_call` forbids parking.
  virtual std::optional<Parking> decide(Frame& frame, bool last_call) = 0;

  // Everything that decide() saw is durable: answer now. `wakes` lasts until all tasks of the batch
  // have answered. Any thread.
  virtual void durable(Wakes& wakes) = 0;

  // The engine is stopping, or the store failed: then nothing of this task counts, unless its batch
  // turns out to be durable when the store is reopened. Any thread.
  virtual void refuse(const Error& error) = 0;

  // True promises that decide() emits nothing: such a task is answered from durable data also while
  // the store takes no commits. Any thread.
  virtual bool only_reads() const { return false; }

  // Roughly how many bytes decide() will move. From kHeavyBytes on a task is deferred while lighter
  // ones arrive (EngineLoop::decide_inputs), and from kLargeBytes on while the store is congested:
  // many of them fill its log as well. Any thread.
  static constexpr size_t kHeavyBytes = 1u << 20;
  static constexpr size_t kLargeBytes = 64u << 10;
  virtual size_t weight() const { return 0; }

  // The client has disconnected: a parked task must not lease jobs for it. Any thread.
  void abandon() { abandoned_.store(true, std::memory_order_release); }
  bool abandoned() const { return abandoned_.load(std::memory_order_acquire); }

 private:
  std::atomic<bool> abandoned_{false};
};

using TaskPtr = std::shared_ptr<Task>;

}  // namespace pawl
