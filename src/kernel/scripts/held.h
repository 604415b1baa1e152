// Held: updates the bytes that a run is known to hold while one part of it changes.
#pragma once

#include <cstdint>

#include "kernel/scripts/run.h"

namespace pawl {

template <class Holder>
class Held {
 public:
  Held(ScriptRun& script, const Holder& holder)
      : script_(script), holder_(holder), before_(held_by(holder)) {}
  ~Held() { script_.held_bytes += held_by(holder_) - before_; }
  Held& operator=(Held&&) = delete;

 private:
  ScriptRun& script_;
  const Holder& holder_;
  uint64_t before_;
};

}  // namespace pawl
