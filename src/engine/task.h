// Task: one request's way through the engine. The engine knows no command by name: a task decides
// itself by calling the kernel, and keeps what it will say until that is durable.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/wakes.h"
#include "kernel/frame.h"

namespace pawl {

// Where a task that found nothing to do wants to wait.
struct Parking {
  std::vector<std::string>
      queues;               // scoped names; a job becoming available in one of them wakes the task
  int64_t until_ms = 0;     // then it must answer with what there is
  int64_t retry_at_ms = 0;  // try again then in any case (a rate limit ends); 0 = no such time
};

// The name under which a task waits for a run to end or to be suspended.
std::string parking_of(const RunId& run);

class Task {
 public:
  virtual ~Task() = default;

  // Engine thread. Reads the state, emits what happens, prepares the answer. Returning a Parking
  // means: call again; what was emitted so far stands and becomes durable without waiting for the
  // answer. `last_call` forbids parking.
  virtual std::optional<Parking> decide(Frame& frame, bool last_call) = 0;

  // Everything that decide() saw is durable: answer now. `wakes` lasts until all tasks of the batch
  // have answered. Any thread.
  virtual void durable(Wakes& wakes) = 0;

  // The engine is stopping, or the store failed: then nothing of this task counts, unless its batch
  // turns out to be there when the store is back. Any thread.
  virtual void refuse(const Error& error) = 0;

  // True promises that decide() emits nothing: such a task is answered also while the store takes
  // no commits, from what is durable. Any thread.
  virtual bool only_reads() const { return false; }

  // About how many bytes decide() will move. From kHeavyBytes on a task stands back while lighter
  // ones come (EngineLoop::decide_inputs), and from kLargeBytes on while the store is congested: many
  // of them fill its log as well. Any thread.
  static constexpr size_t kHeavyBytes = 1u << 20;
  static constexpr size_t kLargeBytes = 64u << 10;
  virtual size_t weight() const { return 0; }

  // The client has gone: a parked task must not lease jobs for nobody. Any thread.
  void abandon() { abandoned_.store(true, std::memory_order_release); }
  bool abandoned() const { return abandoned_.load(std::memory_order_acquire); }

 private:
  std::atomic<bool> abandoned_{false};
};

using TaskPtr = std::shared_ptr<Task>;

}  // namespace pawl
