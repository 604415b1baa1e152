// ListsKind: a step with inner lists. After a pause it continues as if one of them had closed.
#pragma once

#include "kernel/scripts/step_end.h"
#include "kernel/scripts/step_kind.h"

namespace pawl::scripts {

class ListsKind : public StepKind {
 public:
  void activate(RunContext& run, const At& at, uint32_t attempt) const final {
    if (attempt > 1) drop_lists_of(run, at.path);
    run.frame.emit(started(run, at, attempt));
    enter(run, at);
  }
  void resume(RunContext& run, const At& at) const final { child_ended(run, at); }
  bool may_resume() const final { return true; }

 protected:
  ~ListsKind() = default;
  // Opens the first lists, or ends the step if there are none.
  virtual void enter(RunContext& run, const At& at) const = 0;
};

}  // namespace pawl::scripts
