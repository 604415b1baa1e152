// EffectSink: what runs ask of the outside, on its way out.
//
// prepare() is called on the engine thread when a batch is sealed: it reads the state and makes
// ready what is to be done. The result is released only once that batch is durable (I3), on the
// committing thread: be quick. What the meter has no room for is left for a later batch. A batch
// that fails is never released; after a restart everything that was asked and not answered is asked
// again.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "kernel/meter.h"
#include "kernel/state.h"

namespace pawl {

class PreparedEffects {
 public:
  virtual ~PreparedEffects() = default;
  virtual void release() = 0;
};

class EffectSink {
 public:
  virtual ~EffectSink() = default;
  // Takes from the front of `notes`, one at least, until the meter is spent. A note whose parameters
  // are large, while takes_heavy() is false, goes back to the end, marked as heavy.
  virtual std::unique_ptr<PreparedEffects> prepare(const State& state,
                                                   std::deque<EffectNote>& notes, int64_t now_ms,
                                                   Meter& meter) = 0;
  // False while so much is under way that what runs with large texts ask for should wait. It is
  // true again at the latest when the last answer has become durable.
  virtual bool takes_heavy() const { return true; }
};

}  // namespace pawl
