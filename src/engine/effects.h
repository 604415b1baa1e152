// EffectSink: prepares and releases the effects of runs.
//
// prepare() is called on the engine thread when a batch is closed: it reads the state and prepares
// the effects. The result is released only once that batch is durable (I3), on the committing
// thread: release() must not wait. Effects beyond the meter's allowance are left for a later batch.
// A batch that fails is never released; after a restart every unanswered effect is requested again.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

namespace pawl {

class Meter;
class State;
struct EffectNote;

class PreparedEffects {
 public:
  virtual ~PreparedEffects() = default;
  virtual void release() = 0;
};

class EffectSink {
 public:
  virtual ~EffectSink() = default;
  // Takes from the front of `notes`, one at least, until the meter is spent. A note whose
  // parameters are large, while takes_heavy() is false, moves to the end, marked as heavy.
  virtual std::unique_ptr<PreparedEffects> prepare(const State& state,
                                                   std::deque<EffectNote>& notes, int64_t now_ms,
                                                   Meter& meter) = 0;
  // False while so many bytes are in use that effects of runs with large texts should wait. True
  // again at the latest when the last answer has become durable.
  virtual bool takes_heavy() const { return true; }
};

}  // namespace pawl
