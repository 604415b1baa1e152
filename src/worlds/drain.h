// Drain: steps deliveries in the order in which they were queued, until none is left. Of a step
// that succeeds everything is kept; of one that fails, only the record of the failure, and the
// decisions on its effects if one was denied.
//
// Bounded per input: kFrameStepsMax steps; kFrameBytesMax of records and states, and as much again
// of queued deliveries; and fuel: kFrameCallsFuelMax times that of one call, at least
// kFrameFuelMin. At a bound the deliveries still queued are skipped with step.cascade_limit. Only
// counts decide, so a replay stops at the same place.
//
// Thread: the worker that has the world.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/plant.h"
#include "worlds/continuation.h"
#include "worlds/frame.h"
#include "worlds/judged_step.h"
#include "worlds/passage.h"

namespace pawl::worlds {

constexpr uint64_t kFrameStepsMax = 1000;
constexpr size_t kFrameBytesMax = 64u << 20;
constexpr uint64_t kFrameCallsFuelMax = 100;
// Calls of little fuel are bounded by kFrameStepsMax alone.
constexpr uint64_t kFrameFuelMin = 5'000'000'000;

struct QueuedDelivery {
  const Module* module = nullptr;
  std::string key;  // of the instance; "" = not keyed
  std::string arm;
  std::shared_ptr<const Content> content;
  Cause cause;  // as the journal has it
  Cause input;  // what a retry would deliver again; another than the cause only in a retry
  Route route = Route::Subscription;
  std::optional<size_t> reported = {};  // its index in deliveries()
};

class Drain {
 public:
  explicit Drain(Frame& frame) : frame_(frame) {}

  void queue(QueuedDelivery delivery) {
    queue_bytes_ += delivery_bytes(*delivery.module, delivery.key);
    if (has_bug(Bug::CascadeReversed)) return queue_.push_front(std::move(delivery));
    queue_.push_back(std::move(delivery));
  }
  // To all targets of a domain event, whose record is `cause`. Reported ones are of the input
  // itself.
  void queue_event(std::shared_ptr<const Content> content, std::vector<Target> targets, Cause cause,
                   bool reported);
  void queue_continuation(Continuation continuation, std::string_view key, Cause cause,
                          Cause input);

  // Unavailable if the host could not run a module: then nothing may be written.
  Status run();

  std::vector<Delivery> take_deliveries() { return std::move(deliveries_); }

 private:
  // An effect that the gate has decided on.
  struct Asked {
    NewIntent intent;
    Passage passage;
  };

  Status deliver(QueuedDelivery delivery);
  void skip(const QueuedDelivery& delivery, std::string_view code);
  bool is_spent() const;
  Status step(const QueuedDelivery& delivery);
  Result<std::optional<Fault>> call_module(const QueuedDelivery& delivery, uint64_t ordinal,
                                           JudgedStep& step);
  ModuleCall call_host(const QueuedDelivery& delivery, uint64_t ordinal);
  Result<std::optional<Fault>> pass_gate(const QueuedDelivery& delivery, uint64_t ordinal,
                                         JudgedStep& step, std::vector<Asked>& asked);
  Asked ask(const QueuedDelivery& delivery, uint64_t ordinal, size_t index, JudgedEffect& effect,
            CapEnd& end);
  void keep(const QueuedDelivery& delivery, uint64_t ordinal, JudgedStep step,
            std::vector<Asked> asked);
  void keep_failure(const QueuedDelivery& delivery, uint64_t ordinal, const Fault& fault,
                    std::vector<Asked> asked);
  void observe(const Asked& asked);
  void keep_effect(const QueuedDelivery& delivery, Asked asked);
  void emit(JudgedEvent event, Cause step);
  bool timed_out_before(uint64_t ordinal) const;
  void report(const QueuedDelivery& delivery, Delivery::Outcome outcome);
  void set_fuel(uint64_t fuel);

  // Gives the host the code of a module.
  struct LoadBlob {
    World& world;
    std::optional<std::string> operator()(std::string_view hash) const { return world.blob(hash); }
  };

  Frame& frame_;
  LoadBlob load_{frame_.deciding().world()};
  std::deque<QueuedDelivery> queue_;
  size_t queue_bytes_ = 0;
  std::vector<Delivery> deliveries_;
  uint64_t steps_ = 0;
  uint64_t fuel_ = 0;
};

}  // namespace pawl::worlds
