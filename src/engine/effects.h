// EffectSink: what runs ask of the outside, on its way out.
//
// prepare() is called on the engine thread when a batch is sealed: it reads the state and makes
// ready what is to be done. The result is released only once that batch is durable (I3), on the
// committing thread: be quick. A batch that fails is never released; after a restart everything
// that was asked and not answered is asked again.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

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
  virtual std::unique_ptr<PreparedEffects> prepare(const State& state,
                                                   std::vector<EffectNote> notes,
                                                   int64_t now_ms) = 0;
};

}  // namespace pawl
