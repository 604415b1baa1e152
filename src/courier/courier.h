// Courier: carries the messages of one partition to the others, until each is taken.
//
// The outbox is the truth (kernel/messages/outbox.h); the courier only reads it, when its bell
// rings and when a receiver has answered. Each receiver gets one batch at a time. A batch that
// failed is sent again after a pause that grows up to retry_ms_max, for ever; after a restart, what
// is not settled is sent again, and the receiver ignores what it has counted already. What was
// taken is settled a while later, with all that was taken until then, so that settling costs no
// commit for each message. While nothing is owed, nothing happens.
//
// Make one for each partition that this process has, if there are several partitions. start() once
// the engine runs; stop() before it stops. The desk outlives its couriers.
//
// Threads: any; stop() not from the desk's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "courier/courier_desk.h"
#include "courier/outbox_reader.h"
#include "engine/engine.h"
#include "engine/outbox_bell.h"

namespace pawl {

// Carries a batch to a partition, where take_messages() takes it, and brings the answer back, or an
// error, once. Called on the desk's thread: it must not wait. `done` may come on any thread, at any
// time.
using Transport = std::function<void(uint16_t to, std::string batch,
                                     std::function<void(Result<std::string> answer)> done)>;

struct CourierConfig {
  uint16_t partition = 0;  // whose messages
  uint16_t partitions = 1;
  BatchBounds batch = {};
  int64_t retry_ms_min = 20;
  int64_t retry_ms_max = 2'000;
  int64_t settle_after_ms = 100;  // since the first one was taken
  uint64_t settle_from = 2'000;   // so many taken messages are settled at once
};

class Courier {
 public:
  Courier(CourierDesk& desk, const CourierConfig& config, Transport transport);
  ~Courier();
  Courier(const Courier&) = delete;
  Courier& operator=(const Courier&) = delete;

  // `bell`: the one in the engine's CoreConfig. Both outlive stop().
  void start(EngineLoop& engine, OutboxBell& bell);
  // Nothing is carried any more, and who waits for when_all_taken() is told Unavailable.
  void stop();

  // Called once all partitions have taken what this one has sent to everybody and what is durable
  // by now; with Unavailable if that takes longer than wait_ms: it will be taken, but later.
  void when_all_taken(int64_t wait_ms, std::function<void(Status)> done);

  // Messages whose receivers have not taken them, as of the last look.
  uint64_t unsettled() const;

 private:
  class Round;

  CourierDesk& desk_;
  std::shared_ptr<Round> round_;
  OutboxBell* bell_ = nullptr;
};

}  // namespace pawl
